"""The reference experiment at low temperature: docs/theory/low-temperature.md, The reference experiment."""

import numpy as np

MASS = 0.59738  # of the limit at e_1


def nodes(n, l_min):
    """Points and weights for the density without symmetry, refined at +-pi/2 (Nodes on the circle)."""
    quarter = n // 4
    s = np.append(
        np.geomspace(l_min, 0.3, quarter // 2, endpoint=False), np.linspace(0.3, np.pi / 2, quarter - quarter // 2)
    )
    ends = np.concatenate([[0], (s[1:] + s[:-1]) / 2, [np.pi / 2]])
    theta = np.concatenate([np.pi / 2 + s, np.pi / 2 - s, -np.pi / 2 + s, -np.pi / 2 - s])
    w = (1 + 0.4 * np.cos(theta - 0.7) + 0.2 * np.sin(2 * theta + 0.3)) * np.tile(np.diff(ends), 4)
    small, large = np.sin(s), np.cos(s)
    x = np.column_stack(
        [np.concatenate([-small, small, small, -small]), np.concatenate([large, large, -large, -large])]
    )
    return x, w / w.sum()


def projected(force, x):
    return force - (force * x).sum(axis=1, keepdims=True) * x


def field(x, w, V, B, beta):
    """What softmax attention with scores beta <x_i, B x_j> moves tokens by; beta = inf reads B^T x / |B^T x|."""
    if np.isinf(beta):
        read = x @ B
        return projected(read / np.linalg.norm(read, axis=1, keepdims=True) @ V.T, x)
    scores = beta * (x @ B @ x.T)
    p = w * np.exp(scores - scores.max(axis=1, keepdims=True))
    return projected(p @ x / p.sum(axis=1, keepdims=True) @ V.T, x)


def step(x, w, V, B, beta, h):
    a = field(x, w, V, B, beta)
    b = field(x + h / 2 * a, w, V, B, beta)
    c = field(x + h / 2 * b, w, V, B, beta)
    x = x + h / 6 * (a + 2 * b + 2 * c + field(x + h * c, w, V, B, beta))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def to_the_limit(x, w, mass, e):
    """W_2 to mass delta_e + (1 - mass) delta_-e: the best plan sends the top mass to e, and may split one token."""
    order = np.argsort(-(x @ e))
    x, w = x[order], w[order]
    before = np.append(0, np.cumsum(w)[:-1])
    up = np.clip(mass - before, 0, w)
    return np.sqrt(up @ ((x - e) ** 2).sum(axis=1) + (w - up) @ ((x + e) ** 2).sum(axis=1))


def experiment(beta, t1, n=800, l_min=1e-5, h=0.05, V=np.diag([1.0, 2.0]), B=np.diag([3.0, 1.0])):
    """W_2 to the limit of zero temperature at all multiples of h, and the distance to its flow at t = 1, 2, 4."""
    x, w = nodes(n, l_min)
    e = np.array([1.0, 0.0])
    mass = w[x[:, 0] > 0].sum()  # the flow of zero temperature keeps sides
    cold, far, distances = x, [], {}
    for k in range(round(t1 / h) + 1):
        far.append(to_the_limit(x, w, mass, e))
        if k * h in (1.0, 2.0, 4.0):
            distances[k * h] = np.sqrt(w @ ((x - cold) ** 2).sum(axis=1))
        x, cold = step(x, w, V, B, beta, h), step(cold, w, V, B, np.inf, h)
    return np.array(far), distances


def plane_distances(times=(0, 2, 4, 6, 8)):
    """V = diag(2, 2, 1), B = I at zero temperature, dx/dt = P V x: W_2 to the images on the circle, point by point."""
    x = np.random.default_rng(0).normal(size=(600, 3))
    x /= np.linalg.norm(x, axis=1)[:, None]
    image = x * [1, 1, 0]
    image /= np.linalg.norm(image, axis=1)[:, None]
    actual = []
    for t in times:
        moved = x * np.exp(t * np.array([2, 2, 1]))
        moved /= np.linalg.norm(moved, axis=1)[:, None]
        actual.append(np.sqrt(((moved - image) ** 2).sum(axis=1).mean()))
    return np.array(actual)


def turned(beta, t1, n=480, l_min=1e-12, h=0.05):
    V = np.array([[1, 0.5], [0.5, 2]])
    return experiment(beta, t1, n, l_min, h, V, (np.linalg.inv(V) @ np.diag([2.0, 1.0])).T)


def table():
    for beta, t1 in ((8.0, 5), (16.0, 6), (32.0, 7), (64.0, 8), (128.0, 9), (256.0, 10), (512.0, 11), (1024.0, 12)):
        far, distances = experiment(beta, t1)
        at_log = np.interp(np.log(beta), np.arange(len(far)) * 0.05, far)
        print(f"beta = {beta:g}: least {far.min():.4f} at {far.argmin() * 0.05:.2f}, at log beta {at_log:.4f},",
              "distances", *(f"{v:.5f}" for v in distances.values()), flush=True)  # fmt: skip
    print("turned", [round(turned(beta, 8)[0].min(), 4) for beta in (4.0, 8.0, 16.0, 32.0)])
    print("plane", plane_distances())


if __name__ == "__main__":
    table()
