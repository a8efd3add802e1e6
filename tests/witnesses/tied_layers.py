"""One layer of ALBERT applied many times, and the groups that its tokens form, in NumPy and SciPy.

Written from arXiv:1909.11942 (post-normalised layers) and the names of its tensors; docs/language-models.md has the
numbers. `states` takes a dictionary of the tensors in any precision; whatever that is, all is computed in it.
"""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.special import erf

LAYER = "albert.encoder.albert_layer_groups.0.albert_layers.0."


def normalised(x, gain, bias, eps):
    x = x - x.mean(axis=1, keepdims=True)
    return gain * x / np.sqrt((x * x).mean(axis=1, keepdims=True) + eps) + bias


def embedded(w, ids, eps):
    """The tokens before the first layer."""
    start = "albert.embeddings."
    x = w[f"{start}word_embeddings.weight"][ids]
    x = x + w[f"{start}position_embeddings.weight"][: len(ids)] + w[f"{start}token_type_embeddings.weight"][0]
    x = normalised(x, w[f"{start}LayerNorm.weight"], w[f"{start}LayerNorm.bias"], eps)
    across = "albert.encoder.embedding_hidden_mapping_in."
    return x @ w[f"{across}weight"].T + w[f"{across}bias"]


def layer(w, x, heads, eps):
    """One layer: attention, then a perceptron with GELU, each with a residual connection and normalised after it."""

    def linear(name, y):
        return y @ w[f"{LAYER}{name}.weight"].T + w[f"{LAYER}{name}.bias"]

    n, d = x.shape
    q, k, v = (linear(f"attention.{name}", x).reshape(n, heads, d // heads) for name in ("query", "key", "value"))
    read = np.empty_like(q)
    for h in range(heads):
        scores = q[:, h] @ k[:, h].T / np.sqrt(d // heads).astype(x.dtype)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        read[:, h] = scores / scores.sum(axis=1, keepdims=True) @ v[:, h]
    attention = linear("attention.dense", read.reshape(n, d))
    norm = f"{LAYER}attention.LayerNorm."
    x = normalised(x + attention, w[f"{norm}weight"], w[f"{norm}bias"], eps)
    inner = linear("ffn", x)
    inner = inner * (0.5 * (1 + erf(inner / np.sqrt(2).astype(x.dtype)))).astype(x.dtype)
    norm = f"{LAYER}full_layer_layer_norm."
    return normalised(x + linear("ffn_output", inner), w[f"{norm}weight"], w[f"{norm}bias"], eps)


def states(w, ids, layers, heads=8, eps=1e-12):
    """The tokens at these layers, which are in increasing order."""
    x, found = embedded(w, ids, eps), []
    for k in range(max(layers) + 1):
        found += [x] if k in layers else []
        x = layer(w, x, heads, eps)
    return found


def groups(x, eps):
    """Directions within the distance eps, linked: how many groups there are."""
    u = x / np.linalg.norm(x, axis=1, keepdims=True)
    return int(fcluster(linkage(u, "single"), eps, "distance").max())
