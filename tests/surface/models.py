"""Models: they are made, and their fields act."""

import json
from pathlib import Path

import jax
import numpy as np

import attnflow as af

from .samples import MATRIX, POINTS, SPHERE, SYMMETRIC, WEIGHTS
from .table import Abstract, Call, arguments, first_rows, rows_permuted, turned

OBJECT = {"jit": "it makes an object; what that computes is traced in the rows of `field`"}
TEXT = {"float32": "it has no numbers"}


def block() -> af.models.Block:
    """A small layer for tokens in three dimensions."""
    heads = af.attention.SoftmaxHeads(*MATRICES)
    norm = af.models.Normalization("rms", np.array([1.0, 0.5, 2.0]))
    return af.models.Block(heads, af.models.MLP(MATRIX, SYMMETRIC), norm, norm)


MATRICES = (MATRIX[None], SYMMETRIC[None], MATRIX[None], SYMMETRIC[None])  # Q, K, V and W of one head
CHECKPOINT = np.load(Path(__file__).parents[1] / "data" / "pretrained.npz")

ROWS = [
    Abstract("models.AbstractLayers"),
    Abstract("models.AbstractModel"),
    Abstract("models.AbstractRandomModel"),
    Abstract("models.AbstractSchedule"),
    Call(  # other maps: test_properties.py
        "models.field",
        arguments=lambda: {"model": af.SelfAttention(beta=2.0), "t": 0.0, "x": SPHERE, "weights": WEIGHTS},
        traced=("x", "weights"),
        points=("x",),
        weights="weights",
        permutation=rows_permuted,
        rotation=turned,
        splitting=first_rows,
        without={
            "translation": "the sphere is not translated",
            "scale": "the sphere is not scaled",
            "nonfinite:t": "the parameters do not depend on time",
        },
    ),
    Call("models.Normalization", arguments=arguments(form="layer", gain=POINTS[0], bias=POINTS[1]), without=OBJECT),
    Call(
        "models.Normalization",
        case="sphere",
        arguments=arguments(form="sphere", radius=2.0),
        without={**OBJECT, "junk:radius:array": "one number for each layer of a stack"},
    ),
    Call(
        "models.MLP",
        arguments=arguments(W=MATRIX, U=SYMMETRIC, b=POINTS[0], c=POINTS[1], G=MATRIX, activation="silu"),
        without=OBJECT,
    ),
    Call(
        "models.Block",
        arguments=lambda: {
            "attention": af.attention.SoftmaxHeads(*MATRICES),
            "mlp": af.models.MLP(MATRIX, SYMMETRIC),
            "attention_norm": af.models.Normalization("rms"),
            "mlp_norm": af.models.Normalization("rms"),
            "place": "post",
            "residual": 0.5,
        },
        without=OBJECT,
    ),
    Call(
        "models.Embedding",
        arguments=lambda: {
            "words": POINTS,
            "positions": SPHERE,
            "kinds": SPHERE[:2],
            "normalization": af.models.Normalization("rms"),
            "A": MATRIX,
            "b": POINTS[0],
        },
        without=OBJECT,
    ),
    Call(
        "models.LayerStack",
        arguments=lambda: {
            "blocks": block(),
            "order": [0, 0],
            "pairs": af.Causal(),
            "embedding": af.models.Embedding(POINTS),
            "ending": af.models.Normalization("rms"),
        },
        without=OBJECT,
    ),
    Call(
        "models.families.from_tensors",
        arguments=lambda: {
            "config": json.loads(str(CHECKPOINT["bert/config"])),
            "tensors": {
                name.removeprefix("bert/weights/"): CHECKPOINT[name]
                for name in CHECKPOINT.files
                if name.startswith("bert/weights/")
            },
            "dtype": "float32",
        },
        without={**OBJECT, **TEXT},
    ),
    Call("models.families.names", without={**OBJECT, **TEXT}),
    Call("SelfAttention", arguments=arguments(beta=2.0), without=OBJECT),
    Call(
        "SelfAttention",
        case="map",
        arguments=lambda: {"attention": af.Softmax(2.0), "space": af.Euclidean(), "pairs": af.Causal()},
        without=OBJECT,
    ),
    Call(
        "models.NormalizedAttention",
        arguments=lambda: {"attention": af.Softmax(2.0), "scheme": "post", "alpha": 1.0},
        without=OBJECT,
    ),
    Call("Flow", arguments=lambda: {"fn": lambda t, x, w: -x, "space": af.Euclidean()}, without={**OBJECT, **TEXT}),
    Call("models.causal_model", arguments=arguments(n=4, beta=1.0, slope=1.0, normalize="positional"), without=OBJECT),
    Call("HardmaxLayers", arguments=arguments(alpha=0.5, B=SYMMETRIC, tie_tol=0.0, merge_tol=0.1), without=OBJECT),
    Call("models.hardmax_matrix", arguments=arguments(name="shear"), without={"jit": "it takes a name"}),
    Call(
        "models.hardmax_cloud",
        arguments=lambda: {"name": "square", "inside": 3, "key": jax.random.key(0)},
        without={"jit": "it takes a name", "float32": "other bits draw other numbers"},
    ),
    Call(
        "RandomLayers",
        arguments=arguments(
            beta=1.0, heads=2, eta=0.1, sigma_V=0.5, mean=0.1, combine="mean", rank=2, scaling="mixed", draw="matrices"
        ),
        without=OBJECT,
    ),
    Call(
        "HomogenizedSDE",
        arguments=arguments(beta=1.0, step=0.01, sigma_V=0.5, mean=0.1, rank=2, samples=4),
        without=OBJECT,
    ),
    Call("models.AveragedAttention", arguments=arguments(beta=1.0, mean=1.0, samples=8), without=OBJECT),
    Call(
        "models.Perceptron",
        arguments=arguments(a=MATRIX, b=np.array([0.1, 0.2, 0.3]), omega=2.0, activation="tanh"),
        without={
            **OBJECT,
            "junk:omega:array": "one number for each neuron",
            "junk:b:0-d": "one number for all neurons",
        },
    ),
    Call(
        "models.ReluFlow",
        arguments=arguments(w=np.array([1.0, 0.5]), a=np.array([0.5, -1.0]), b=0.2),
        without=OBJECT,
    ),
    Call(
        "models.FeedForward",
        arguments=arguments(W=MATRIX.T, U=MATRIX, b=np.array([0.1, 0.2, 0.3]), activation="relu"),
        without=OBJECT,
    ),
    Call(
        "models.TransformerBlock",
        arguments=lambda: {
            "attention": af.Softmax(2.0),
            "feed_forward": af.models.FeedForward(MATRIX.T, MATRIX, np.zeros(3)),
            "space": af.Sphere(),
            "pairs": af.pairsums.Full(),
        },
        without=OBJECT,
    ),
    Call(
        "PerceptronBlock",
        case="map",
        arguments=lambda: {"attention": af.Unnormalized(2.0), "perceptron": af.models.Perceptron(MATRIX)},
        without=OBJECT,
    ),
    Call(
        "PerceptronBlock", arguments=lambda: {"beta": 1.0, "perceptron": af.models.Perceptron(MATRIX)}, without=OBJECT
    ),
    Call(
        "Piecewise",
        arguments=arguments(jumps=np.array([1.0, 2.0]), values=np.array([0.5, 1.0, 2.0])),
        without={**OBJECT, "junk:values:shape": "a value may be an array"},
    ),
]
