#!/usr/bin/env python3
"""Losses of the workload `transformer`, computed by other means: NumPy in double precision, gradients by the
package autograd (pip install numpy autograd). Parameters and tokens are nvtally's own, from files (exchange.py), so
this knows nothing of how they were drawn.

usage: transformer.py D_MODEL D_FF LAYERS HEADS VOCABULARY BATCH CONTEXT STEPS FOLDER
Prints the loss of the forward pass before each of STEPS steps of AdamW.
"""
import math
import sys

import autograd.numpy as np
import numpy
from autograd import value_and_grad
from autograd.extend import defvjp, primitive

sys.dont_write_bytecode = True
from exchange import read

erf = primitive(lambda x: numpy.vectorize(math.erf)(x))
defvjp(erf, lambda ans, x: lambda g: g * 2 / math.sqrt(math.pi) * np.exp(-x * x))


def norm(x, g):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5) * g


def attention(x, qkv, projection, batch, heads):
    rows, d = x.shape
    length, width = rows // batch, d // heads
    split = np.reshape(x @ qkv.T, (batch, length, 3, heads, width))
    q, k, v = (np.transpose(split[:, :, i], (0, 2, 1, 3)) for i in range(3))
    scores = q @ np.transpose(k, (0, 1, 3, 2)) / math.sqrt(width)
    scores = np.where(numpy.tril(numpy.ones((length, length))) > 0, scores, -1e300)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    return np.reshape(np.transpose(weights @ v, (0, 2, 1, 3)), (rows, d)) @ projection.T


def loss(parameters, token, target, batch, heads):
    table, position, last, head = parameters[:4]
    x = table[token] + np.concatenate([position] * batch)
    for i in range(4, len(parameters), 6):
        norm1, qkv, projection, norm2, up, down = parameters[i : i + 6]
        x = x + attention(norm(x, norm1), qkv, projection, batch, heads)
        u = norm(x, norm2) @ up.T
        x = x + (u * 0.5 * (1 + erf(u / math.sqrt(2)))) @ down.T
    logits = norm(x, last) @ head.T
    top = np.max(logits, axis=1, keepdims=True)
    sums = np.log(np.sum(np.exp(logits - top), axis=1)) + top[:, 0]
    return np.mean(sums - logits[numpy.arange(len(token)), target])


def main():
    d, ff, layers, heads, vocabulary, batch, context, steps = map(int, sys.argv[1:-1])
    w, token, target = read(sys.argv[-1], d, ff, layers, vocabulary, batch, context)
    m, v = [0 * x for x in w], [0 * x for x in w]
    both = value_and_grad(loss)
    for t in range(1, steps + 1):
        value, gradients = both(w, token, target, batch, heads)
        print("%.15g" % value)
        for i, g in enumerate(gradients):
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g * g
            step = m[i] / (1 - 0.9**t) / (numpy.sqrt(v[i] / (1 - 0.999**t)) + 1e-8)
            w[i] = w[i] * (1 - 1e-3 * 0.01) - 1e-3 * step


main()
