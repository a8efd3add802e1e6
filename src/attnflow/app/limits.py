"""All limits on the requests of a visitor of the page."""

MAX_TOKENS = 4096
MAX_DIMENSION = 512
MAX_COORDINATES = 1 << 18  # n times d
MAX_INTEGER = 64  # of integer parameters of maps and models: heads, half-steps
MAX_STEPS = 1_000_000  # a run ends there
MAX_STEPS_AT_ONCE = 256
MAX_PAIRS = 3e10  # pair interactions that a jump in time, or a file, may cost: a minute or so

MAX_MESSAGE = 32 * 1024  # bytes of a message from the page
MAX_MESSAGE_AT_ALL = 1 << 20  # a longer one ends the conversation
MAX_MESSAGES_PER_SECOND = 200.0
MAX_CLIENTS = 64
MAX_FILES = 2  # NetCDF files that are made at once
SEND_SECONDS = 30.0  # a client that reads no bytes for so long is disconnected

HISTORY_BYTES = 24 << 20  # states kept for going back in time, for each client
SLOW_SECONDS = 0.1  # work that takes longer goes to the slow lane, where it delays no other visitor
