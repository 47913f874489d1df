// MLCommons Chakra execution traces: a sequence of protobuf messages, each after its length as a varint:
// GlobalMetadata, then a Node each (chakra/schema/protobuf/et_def.proto). Of their fields, these are written:
//
//   GlobalMetadata  1 version
//   Node            1 id, 2 name, 3 type, 5 data_deps, 7 duration_micros, 10 attr
//   AttributeProto  1 name, 3 to 31 one value: 9 int64, 27 bool

#include "ppsim/traces/workload_files.hpp"

#include <fmt/format.h>

#include "workload_nodes.hpp"
#include <protozero/pbf_builder.hpp>

namespace ppsim::traces {
namespace {

enum class MetadataField : protozero::pbf_tag_type { version = 1 };
enum class NodeField : protozero::pbf_tag_type {
  id = 1,
  name = 2,
  type = 3,
  data_after = 5,
  micros = 7,
  attribute = 10
};
enum class AttributeField : protozero::pbf_tag_type { key = 1, int64 = 9, boolean = 27 };

using NodeBuilder = protozero::pbf_builder<NodeField>;
using AttributeBuilder = protozero::pbf_builder<AttributeField>;

/// Appends the length, then the message.
void append_message(std::string& file, std::string_view message) {
  protozero::add_varint_to_buffer(&file, message.size());
  file += message;
}

void add_number(NodeBuilder& node, const char* key, std::int64_t value) {
  AttributeBuilder attribute{node, NodeField::attribute};
  attribute.add_string(AttributeField::key, key);
  attribute.add_int64(AttributeField::int64, value);
}

/// The type of a node: COMP_NODE, COMM_SEND_NODE, COMM_RECV_NODE.
int type_of(WorkloadKind kind) {
  constexpr int first = 4;
  return first + static_cast<int>(kind);
}

/// `micros` is the rounded duration.
std::string message_of(const WorkloadNode& node, std::size_t rank, std::size_t position, std::int64_t micros) {
  std::string message;
  NodeBuilder fields{message};
  fields.add_uint64(NodeField::id, position);
  fields.add_string(NodeField::name, node.name);
  fields.add_enum(NodeField::type, type_of(node.kind));
  for (const std::size_t before : node.after) fields.add_uint64(NodeField::data_after, before);
  if (micros > 0) fields.add_uint64(NodeField::micros, static_cast<std::uint64_t>(micros));
  {
    AttributeBuilder attribute{fields, NodeField::attribute};
    attribute.add_string(AttributeField::key, "is_cpu_op");
    attribute.add_bool(AttributeField::boolean, false);
  }
  if (node.kind == WorkloadKind::compute) {
    add_number(fields, "duration_ns", node.duration.count());
    return message;
  }
  const bool sends = node.kind == WorkloadKind::send;
  add_number(fields, "comm_src", static_cast<std::int64_t>(sends ? rank : node.peer));
  add_number(fields, "comm_dst", static_cast<std::int64_t>(sends ? node.peer : rank));
  add_number(fields, "comm_tag", static_cast<std::int64_t>(node.tag));
  add_number(fields, "comm_size", node.bytes.count());
  return message;
}

} // namespace

std::vector<NamedBytes> write_chakra(const TaskGraph& graph, std::string_view prefix) {
  constexpr std::int64_t ns_per_micro = 1000;
  std::string metadata;
  protozero::pbf_builder<MetadataField>{metadata}.add_string(MetadataField::version, "0.0.4");
  std::vector<NamedBytes> files;
  for (const std::vector<WorkloadNode>& nodes : workload_of(graph)) {
    const std::size_t rank = files.size();
    NamedBytes& file = files.emplace_back(fmt::format("{}.{}.et", prefix, rank), "");
    append_message(file.bytes, metadata);
    std::int64_t worked = 0;  // nanoseconds, of the rank so far
    std::int64_t written = 0; // microseconds
    for (std::size_t position = 0; position < nodes.size(); ++position) {
      worked += nodes[position].duration.count();
      const std::int64_t micros = divide_rounded(worked, ns_per_micro) - written;
      written += micros;
      append_message(file.bytes, message_of(nodes[position], rank, position, micros));
    }
  }
  return files;
}

} // namespace ppsim::traces
