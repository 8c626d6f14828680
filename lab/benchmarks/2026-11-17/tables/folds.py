"""The test queries of each fold of a training, and their candidates: fold-1.tsv, fold-1.run and so on.

    python3 folds.py OUT/folds.json QUERIES.tsv RUN
"""
import json, sys
folds, queries, run = sys.argv[1:]
for number, fold in enumerate(json.load(open(folds))['folds'], 1):
    test = set(fold['test'])
    for path, out in ((queries, f'fold-{number}.tsv'), (run, f'fold-{number}.run')):
        with open(out, 'w', encoding='utf-8') as f:
            f.writelines(line for line in open(path, encoding='utf-8') if line.split(None, 1)[0] in test)
