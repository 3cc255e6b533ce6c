"""The same summary with HTA (HolisticTraceAnalysis): kernels, and kernels by the annotations around them.

hta_projection.py FOLDER: a folder with one Kineto trace. Prints how many kernels it attributed.
"""

import sys

from hta.trace_analysis import TraceAnalysis

analysis = TraceAnalysis(trace_dir=sys.argv[1])
kinds, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000)
by_range = analysis.get_gpu_kernels_with_user_annotations(0)
print(len(kernels), 0 if by_range is None else len(by_range))
