"""Real models on disk: their config, tensors and tokenizer, in whichever format, with nothing executed.

    files = open_model("rxnmapper")          # after: attnflow models fetch rxnmapper; or a folder, or a GGUF file
    files.config["num_hidden_layers"], files.tensors["..."], files.tokenizer.encode("CCO>>CC=O").pieces

safetensors, GGUF and the files of `torch.save` are read here, without torch; each reader refuses in a sentence a file
that is cut short, lies about its sizes, or asks for anything but numbers.
"""

from .files import ModelFiles as ModelFiles
from .files import open_model as open_model
from .packages import fetch_model as fetch_model
from .tensors import Tensors as Tensors
from .tokenizer import Encoded as Encoded
