"""chakra_nodes.py STAGES PREFIX CSV: reads PREFIX.N.et with MLCommons Chakra's reader and schema, and holds each stage's tasks against
its row of a CSV that ppsim has written, and sends against receives. Exit status 1 where they differ.
"""

import csv
import sys

import et_def_pb2 as chakra
from protolib import decodeMessage, openFileRd

stages, prefix, order = int(sys.argv[1]), sys.argv[2], list(csv.reader(open(sys.argv[3], newline="")))
sends, receives = [], []
for stage in range(stages):
    trace, nodes = openFileRd(f"{prefix}.{stage}.et"), []
    if not decodeMessage(trace, chakra.GlobalMetadata()):
        sys.exit(f"differs: {prefix}.{stage}.et: no metadata")
    while decodeMessage(trace, node := chakra.Node()):
        nodes.append(node)
    known = {node.id for node in nodes}
    tasks = [node.name for node in nodes if node.type == chakra.COMP_NODE]
    unknown = [node.name for node in nodes if not set(node.data_deps) <= known or node.UnknownFields()]
    row = [part for cell in order[stage] if cell for part in cell.replace("OVERLAP_F_B", "").strip("()").split(";")]
    if tasks != row or unknown:
        sys.exit(f"differs: {prefix}.{stage}.et: tasks {tasks[:3]}..., in the CSV {row[:3]}...; not understood: {unknown[:3]}")
    for node in nodes:
        value = {attribute.name: attribute.int64_val for attribute in node.attr}
        if node.type == chakra.COMM_SEND_NODE:
            sends.append((stage, value["comm_dst"], value["comm_tag"], value["comm_size"]))
        if node.type == chakra.COMM_RECV_NODE:
            receives.append((value["comm_src"], stage, value["comm_tag"], value["comm_size"]))
if not sends or sorted(sends) != sorted(receives):
    sys.exit(f"differs: {prefix}: {len(sends)} sends, {len(receives)} receives")
