"""Word vectors for KNRM and CONV-KNRM from the embedding table of a BERT model, in word2vec's binary format.

    python3 words.py MODEL OUT.bin CORPUS.jsonl.zst…

A word has the mean of its WordPieces' rows; words are those of the vocabulary and of the texts. Needs numpy and zstd.
"""
import json, re, struct, subprocess, sys, unicodedata
import numpy as np
model, out, *corpora = sys.argv[1:]
raw = open(f'{model}/model.safetensors', 'rb').read()
size = struct.unpack('<Q', raw[:8])[0]
header = json.loads(raw[8:8 + size])
name = next(n for n in header if n.endswith('word_embeddings.weight'))
start, end = header[name]['data_offsets']
kind = {'F16': np.float16, 'F32': np.float32}[header[name]['dtype']]
table = np.frombuffer(raw[8 + size + start:8 + size + end], kind).reshape(header[name]['shape']).astype(np.float32)
pieces = {p.rstrip('\n'): i for i, p in enumerate(open(f'{model}/vocab.txt', encoding='utf-8'))}

def plain(text):
    text = unicodedata.normalize('NFD', text.lower())
    return ''.join(c for c in text if unicodedata.category(c) != 'Mn')

def split(word):
    at, found = 0, []
    while at < len(word):
        for to in range(len(word), at, -1):
            piece = word[at:to] if at == 0 else '##' + word[at:to]
            if piece in pieces:
                found.append(pieces[piece]); at = to
                break
        else:
            return []
    return found

counts = {}
for path in corpora:
    for line in subprocess.Popen(['zstd', '-dcq', path], stdout=subprocess.PIPE).stdout:
        d = json.loads(line)
        for w in re.findall(r'[^\W_]+', plain(d.get('title', '') + ' ' + d['text'] + ' ' + d.get('query', ''))):
            counts[w] = counts.get(w, 0) + 1
words = {w: [i] for w, i in pieces.items() if w.isalnum()}
for w, n in counts.items():
    if n > 1 and w not in words and len(w) < 40:
        found = split(w)
        if found:
            words[w] = found
with open(out, 'wb') as f:
    f.write(f'{len(words)} {table.shape[1]}\n'.encode())
    for w, ids in words.items():
        f.write(w.encode() + b' ' + table[ids].mean(0).astype('<f4').tobytes() + b'\n')
print(len(words), 'words')
