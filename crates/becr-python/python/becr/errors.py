"""What can go wrong. The message says what to do."""


class BecrError(Exception):
    """The base of all errors of this package."""


class NotFoundError(BecrError, LookupError):
    """There is no such index, document, file or state."""


class InvalidInputError(BecrError, ValueError):
    """Documents, candidates, judgements or options that cannot be used."""


class DamagedError(BecrError):
    """A file of the index is not what was written."""


class BusyError(BecrError):
    """Another process is writing to the index or building it."""


class ExistsError(BecrError):
    """Something is in the place of the new index."""


class ModelError(BecrError):
    """The model cannot be read, or is not the one that the index was built with."""


class ForkError(BecrError, RuntimeError):
    """The process was forked from one that had used becr."""
