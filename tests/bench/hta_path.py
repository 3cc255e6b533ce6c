"""The critical path with HTA (HolisticTraceAnalysis), of the whole trace.

hta_path.py FILE: a Kineto trace. Prints the seconds that the analysis took, without HTA's start and without reading.
"""

import sys
import time

from hta.trace_analysis import TraceAnalysis

analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
start = time.monotonic()
graph, is_good = analysis.critical_path_analysis(rank=0, annotation="", instance_id=None)
graph.get_critical_path_breakdown()
print("%.3f" % (time.monotonic() - start))
