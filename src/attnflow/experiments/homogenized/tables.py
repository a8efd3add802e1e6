"""Reference numbers of two tokens in random layers, computed without this library.

`coefficients/witness.py` computes `LAW`, tests/witnesses/random_layers.py draws `LAYERS`.
"""

# E tanh²(βg) and 1 + β² E sech⁴(βg), by β.
CONSTANTS = {0.5: (0.17352, 1.17934), 1.0: (0.39429, 1.46440), 2.0: (0.63526, 2.02380), 4.0: (0.80540, 3.10663)}
LAW = {  # (d, beta): mean and standard deviation of q at T = 1
    (4, 0.0): (0.2118, 0.4187),
    (4, 1.0): (0.2090, 0.4581),
    (4, 3.0): (0.2072, 0.4993),
    (8, 0.0): (0.3328, 0.2953),
    (8, 1.0): (0.3288, 0.3249),
    (8, 3.0): (0.3231, 0.3587),
    (16, 0.0): (0.3967, 0.2048),
    (16, 1.0): (0.3938, 0.2249),
    (16, 3.0): (0.3874, 0.2504),
}
LAYERS = {  # d: T, shares of 1500 simulated stacks within 0.05 of +1 and of -1
    2: (16.0, 0.462, 0.471),
    3: (24.0, 0.812, 0.158),
    4: (32.0, 0.952, 0.036),
    6: (48.0, 1.000, 0.000),
}
REPLICAS = 1500
