"""The one exception for mistakes in what the user gave."""


class UserError(ValueError):
    """What the user gave cannot be used: one clear sentence, no traceback on the command line.

    The message says where, what came, what was expected and, if it helps, what to do.
    """
