#!/usr/bin/env python3
"""read_profile.py MEGABYTES FILE: a made-up profile of that size, in the form that PyTorch 2.7 writes: for each operator
its launch, its kernel and the arrow between them. Prints how many events it has."""

import sys

KERNELS = [
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char*, 3> >"
    "(int, at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char*, 3>)",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
    "void (anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float, false>(c10::BFloat16 const*)",
]
OPERATORS = ["aten::mm", "aten::addmm", "aten::native_layer_norm", "aten::add_", "AddmmBackward0", "aten::empty_strided"]

GROUP = """  {
    "ph": "X", "cat": "cpu_op", "name": "%(operator)s", "pid": 4321, "tid": %(tid)d,
    "ts": %(start).3f, "dur": %(duration).3f,
    "args": {
      "External id": %(id)d,"Record function id": 0, "Concrete Inputs": ["", "", ""], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"], "Input Strides": [[1], [1024, 1], [1, 1024]], "Input Dims": [[3072], [8192, 1024], [1024, 3072]], "Ev Idx": %(id)d
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4321, "tid": %(tid)d,
    "ts": %(launch).3f, "dur": 5.125,
    "args": {
      "External id": %(id)d, "cbid": 211, "correlation": %(id)d
    }
  },
  {
    "ph": "s", "id": %(id)d, "pid": 4321, "tid": %(tid)d, "ts": %(launch).3f,
    "cat": "ac2g", "name": "ac2g"
  },
  {
    "ph": "X", "cat": "kernel", "name": "%(kernel)s", "pid": 0, "tid": 7,
    "ts": %(begin).3f, "dur": %(kernel_us).3f,
    "args": {
      "External id": %(id)d, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": %(id)d,
      "registers per thread": 168, "shared memory": 213248, "blocks per SM": 0.484848, "warps per SM": 1.939394, "grid": [64, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %%": 3
    }
  },
  {
    "ph": "f", "id": %(id)d, "pid": 0, "tid": 7, "ts": %(begin).3f,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
"""


def group(number, start):
    """The events of an operator that begins at a time, in microseconds."""
    return GROUP % {
        "operator": OPERATORS[number * 7 % len(OPERATORS)],
        "kernel": KERNELS[number * 5 % len(KERNELS)],
        "tid": 4321 if number % 5 < 3 else 4567,
        "id": number,
        "start": start,
        "duration": 20.5 + number * 37 % 1000 / 1000,
        "launch": start + 3,
        "begin": start + 12,
        "kernel_us": 8 + number * 53 % 1000 / 1000,
    }


def main():
    size, number, start = int(float(sys.argv[1]) * 1e6), 0, 5000000.0
    with open(sys.argv[2], "w", encoding="ascii") as out:
        written = out.write(
            '{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}\n  ],\n'
            '  "baseTimeNanoseconds": 1700000000000000000,\n  "displayTimeUnit": "ms",\n  "traceEvents": [\n'
        )
        while written < size:
            number += 1
            written += out.write(group(number, start))
            start += 26 + number * 101 % 3000 / 1000
        out.write(
            '  {\n    "name": "process_name", "ph": "M", "ts": 1234, "pid": 4321, "tid": 0,\n'
            '    "args": {\n      "name": "python"\n    }\n  }\n  ],\n  "traceName": "profile.json"\n}\n'
        )
    print(number * 5 + 1)


if __name__ == "__main__":
    main()
