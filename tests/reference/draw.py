"""Parameters and tokens of the workload `transformer` by its seed, as docs/workloads.md says. Needs NumPy.

usage: draw.py D_MODEL D_FF LAYERS VOCABULARY BATCH CONTEXT SEED FOLDER
Prints by how much the parameters in the folder's files (exchange.py) differ at most from those drawn here, and how many
tokens do.
"""
import math
import sys

import numpy

sys.dont_write_bytecode = True
from exchange import read, shapes


def philox(counter, key):
    """Philox4x32-10 of counters[4][n]."""
    c = [numpy.asarray(word, dtype=numpy.uint64) for word in counter]
    low = numpy.uint64(0xFFFFFFFF)
    for i in range(10):
        k0 = numpy.uint64((key[0] + i * 0x9E3779B9) & 0xFFFFFFFF)
        k1 = numpy.uint64((key[1] + i * 0xBB67AE85) & 0xFFFFFFFF)
        a, b = numpy.uint64(0xD2511F53) * c[0], numpy.uint64(0xCD9E8D57) * c[2]
        c = [(b >> numpy.uint64(32)) ^ c[1] ^ k0, b & low, (a >> numpy.uint64(32)) ^ c[3] ^ k1, a & low]
    return c


def blocks(places, seed, stream):
    zeros = numpy.zeros_like(places)
    return philox([places, zeros, zeros + stream, zeros], [seed & 0xFFFFFFFF, seed >> 32])


def normal(shape, seed, stream, scale):
    """Box-Muller: elements 2i and 2i + 1 from the block of counter 2i."""
    n = math.prod(shape)
    c = blocks(numpy.arange(0, n, 2, dtype=numpy.uint64), seed, stream)
    u, v = (c[0].astype(float) + 1) / 2**32, c[1].astype(float) / 2**32
    radius = numpy.sqrt(-2 * numpy.log(u)) * scale
    pairs = numpy.stack([radius * numpy.cos(2 * math.pi * v), radius * numpy.sin(2 * math.pi * v)], 1)
    return pairs.reshape(-1)[:n].reshape(shape)


def tokens(n, bound, seed, stream):
    words = blocks(numpy.arange(n, dtype=numpy.uint64), seed, stream)[0]
    return (words % numpy.uint64(bound)).astype(int)


def draw(d, ff, layers, vocabulary, context, seed):
    wanted = shapes(d, ff, layers, vocabulary, context)
    return [numpy.ones(s) if len(s) == 1 else normal(s, seed, i + 1, 0.02) for i, s in enumerate(wanted)]


def main():
    d, ff, layers, vocabulary, batch, context, seed = map(int, sys.argv[1:-1])
    found, *words = read(sys.argv[-1], d, ff, layers, vocabulary, batch, context)
    worst = max(abs(a - b).max() for a, b in zip(found, draw(d, ff, layers, vocabulary, context, seed)))
    others = [word != tokens(batch * context, vocabulary, seed, 100001 + i) for i, word in enumerate(words)]
    print("%.3g %d" % (worst, sum(other.sum() for other in others)))


if __name__ == "__main__":
    main()
