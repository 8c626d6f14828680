"""BECR re-ranks search results with BERT-quality matching on a CPU, and can say why.

>>> import becr
>>> index = becr.Index.build([("bread", "A dense crumb means the dough was proved too briefly.")], "notes.becr")
>>> index.search("heavy loaf").results[0].id
'bread'
"""

from ._becr import Ranking, SearchAnswer, SearchResult, Snippet, __version__
from ._encoder import Encoder
from ._evaluate import Evaluation, evaluate
from ._explain import ContributionRow, ExplainedDocument, Explanation
from ._index import BuildSummary, ChangeSummary, Index, Verification
from .errors import (
    BecrError,
    BusyError,
    DamagedError,
    ExistsError,
    ForkError,
    InvalidInputError,
    ModelError,
    NotFoundError,
)

__all__ = [
    "BecrError",
    "BuildSummary",
    "BusyError",
    "ChangeSummary",
    "ContributionRow",
    "DamagedError",
    "Encoder",
    "Evaluation",
    "ExistsError",
    "ExplainedDocument",
    "Explanation",
    "ForkError",
    "Index",
    "InvalidInputError",
    "ModelError",
    "NotFoundError",
    "Ranking",
    "SearchAnswer",
    "SearchResult",
    "Snippet",
    "Verification",
    "__version__",
    "evaluate",
]
