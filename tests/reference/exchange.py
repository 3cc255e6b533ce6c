"""Parameters and inputs of the workload `transformer`, as a program of nvtally's wrote them: two arrays in NumPy's own
format (numpy.lib.format, version 1.0).

parameters.npy  float64[n]: table [vocabulary][d], positions [context][d], final norm [d], output projection
                [vocabulary][d]; then each layer's norm [d], q/k/v [3d][d], projection [d][d], norm [d], up [ff][d],
                down [d][ff]. One behind the other, without gaps.
tokens.npy      int32[2][batch * context]: the tokens, and what is to be predicted.
"""
import math
import pathlib

import numpy


def shapes(d, ff, layers, vocabulary, context):
    model = [(vocabulary, d), (context, d), (d,), (vocabulary, d)]
    return model + layers * [(d,), (3 * d, d), (d, d), (d,), (ff, d), (d, ff)]


def read(folder, d, ff, layers, vocabulary, batch, context):
    """Tensors, tokens and targets. ValueError where the files are of another shape."""
    numbers = numpy.load(pathlib.Path(folder) / "parameters.npy")
    words = numpy.load(pathlib.Path(folder) / "tokens.npy")
    wanted = shapes(d, ff, layers, vocabulary, context)
    if numbers.shape != (sum(map(math.prod, wanted)),) or words.shape != (2, batch * context):
        raise ValueError(f"{folder}: {numbers.shape} parameters and {words.shape} tokens")
    ends = numpy.cumsum([math.prod(shape) for shape in wanted])
    tensors = [part.reshape(shape) for part, shape in zip(numpy.split(numbers, ends[:-1]), wanted)]
    return tensors, words[0].astype(int), words[1].astype(int)
