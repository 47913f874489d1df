// MLCommons Chakra execution traces: a sequence of protobuf messages, each after its length as a varint:
// GlobalMetadata, then a Node each (chakra/schema/protobuf/et_def.proto). Of their fields, these are written and read:
//
//   GlobalMetadata  1 version
//   Node            1 id, 2 name, 3 type, 4 ctrl_deps, 5 data_deps, 7 duration_micros, 10 attr
//   AttributeProto  1 name, 3 to 31 one value: 7 int32, 9 int64, 11 uint32, 13 uint64, 27 bool

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <unordered_map>

#include "workload_nodes.hpp"
#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>

namespace ppsim::traces {
namespace {

enum class MetadataField : protozero::pbf_tag_type { version = 1 };
enum class NodeField : protozero::pbf_tag_type {
  id = 1,
  name = 2,
  type = 3,
  control_after = 4,
  data_after = 5,
  micros = 7,
  attribute = 10
};
enum class AttributeField : protozero::pbf_tag_type {
  key = 1,
  int32 = 7,
  int64 = 9,
  uint32 = 11,
  uint64 = 13,
  boolean = 27
};
enum NodeType : std::uint8_t { compute = 4, send = 5, receive = 6 };

constexpr std::int64_t ns_per_micro = 1000;

using NodeBuilder = protozero::pbf_builder<NodeField>;
using AttributeBuilder = protozero::pbf_builder<AttributeField>;

/// Behind its length.
void append_message(std::string& file, std::string_view message) {
  protozero::add_varint_to_buffer(&file, message.size());
  file += message;
}

void add_number(NodeBuilder& node, const char* key, std::int64_t value) {
  AttributeBuilder attribute{node, NodeField::attribute};
  attribute.add_string(AttributeField::key, key);
  attribute.add_int64(AttributeField::int64, value);
}

NodeType type_of(WorkloadKind kind) {
  switch (kind) {
  case WorkloadKind::compute:
    return NodeType::compute;
  case WorkloadKind::send:
    return NodeType::send;
  case WorkloadKind::receive:
    break;
  }
  return NodeType::receive;
}

/// `first` is the position of the rank's first node, `micros` the rounded duration.
std::string message_of(const WorkloadNode& node, std::size_t position, std::size_t first, std::int64_t micros) {
  std::string message;
  NodeBuilder fields{message};
  fields.add_uint64(NodeField::id, position - first);
  fields.add_string(NodeField::name, node.name);
  fields.add_enum(NodeField::type, type_of(node.kind));
  for (const std::size_t before : node.after) fields.add_uint64(NodeField::data_after, before - first);
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
  add_number(fields, "comm_src", sends ? node.rank : node.peer);
  add_number(fields, "comm_dst", sends ? node.peer : node.rank);
  add_number(fields, "comm_tag", static_cast<std::int64_t>(node.tag));
  add_number(fields, "comm_size", node.bytes.count());
  return message;
}

/// The nodes of one rank. Throws Error when the file is cut off or broken.
class RankReader {
public:
  RankReader(const NamedBytes& file, std::uint32_t rank, Workload& workload)
      : file_{file}, rank_{rank}, workload_{workload}, first_{workload.nodes.size()}, rest_{file.bytes} {}

  void read() {
    try {
      read_messages();
    } catch (const protozero::varint_too_long_exception&) {
      refuse("a number has more than 64 bits");
    } catch (const protozero::end_of_buffer_exception&) {
      refuse("the file ends inside a message");
    } catch (const protozero::invalid_tag_exception&) {
      refuse("a field has a number that protobuf does not allow");
    } catch (const protozero::exception&) {
      refuse("a field is of a type that protobuf does not have");
    }
  }

private:
  void read_messages() {
    if (rest_.empty()) refuse("the file is empty");
    check_version(next_message());
    while (!rest_.empty()) node(next_message());
    for (std::size_t i = 0; i < after_.size(); ++i)
      for (const std::uint64_t before : after_[i]) {
        const auto found = position_.find(before);
        if (found == position_.end())
          refuse(fmt::format("node {} depends on node {}, which is not there",
                             in_quotes(workload_.nodes[first_ + i].name), before));
        workload_.nodes[first_ + i].after.push_back(found->second);
      }
  }

  [[noreturn]] void refuse(std::string what) const {
    throw Error{ExitCode::bad_input,
                {file_.name, std::move(what), "is this a Chakra execution trace in protobuf (*.et)?"}};
  }

  std::string_view next_message() {
    const char* begin = rest_.data();
    const char* const end = begin + rest_.size();
    const std::uint64_t size = protozero::decode_varint(&begin, end);
    rest_ = {begin, end};
    if (size > rest_.size()) throw protozero::end_of_buffer_exception{};
    rest_.remove_prefix(size);
    return {begin, static_cast<std::size_t>(size)};
  }

  // The value of a field. That it is of this type protozero takes for granted.
  [[nodiscard]] std::uint64_t number(protozero::pbf_reader& field) const {
    if (!field.has_wire_type(protozero::pbf_wire_type::varint)) refuse("a field that is a number is of another type");
    return field.get_uint64();
  }
  [[nodiscard]] std::string_view text(protozero::pbf_reader& field) const {
    if (!field.has_wire_type(protozero::pbf_wire_type::length_delimited))
      refuse("a field that is text or a message is of another type");
    const protozero::data_view found = field.get_view();
    return {found.data(), found.size()};
  }
  /// Repeated numbers, packed or not.
  void add_numbers(protozero::pbf_reader& field, std::vector<std::uint64_t>& numbers) const {
    if (!field.has_wire_type(protozero::pbf_wire_type::length_delimited)) return numbers.push_back(number(field));
    for (const std::uint64_t value : field.get_packed_uint64()) numbers.push_back(value);
  }

  void check_version(std::string_view message) const {
    protozero::pbf_message<MetadataField> metadata{message.data(), message.size()};
    if (!metadata.next(MetadataField::version)) refuse("does not begin with a version of the schema");
    if (const std::string_view version = text(metadata); !version.starts_with("0.0."))
      refuse(fmt::format("is of version {} of the schema, not 0.0.x", in_quotes(version)));
  }

  /// A whole number that an attribute holds; none for other values.
  struct Attribute {
    std::string_view name;
    std::optional<std::uint64_t> value;
  };
  [[nodiscard]] Attribute attribute(std::string_view message) const {
    protozero::pbf_message<AttributeField> field{message.data(), message.size()};
    Attribute found;
    while (field.next()) switch (field.tag()) {
      case AttributeField::key:
        found.name = text(field);
        break;
      case AttributeField::int32:
      case AttributeField::int64:
      case AttributeField::uint32:
      case AttributeField::uint64:
        found.value = number(field);
        break;
      default:
        field.skip();
      }
    return found;
  }

  /// What the attributes of a node say.
  struct Attributes {
    std::optional<std::uint64_t> source, destination, tag, size, nanoseconds;
  };

  void node(std::string_view message) {
    protozero::pbf_message<NodeField> field{message.data(), message.size()};
    WorkloadNode node{.rank = rank_};
    std::uint64_t id = 0;
    std::uint64_t type = 0;
    std::uint64_t micros = 0;
    std::vector<std::uint64_t> after;
    Attributes attributes;
    while (field.next()) switch (field.tag()) {
      case NodeField::id:
        id = number(field);
        break;
      case NodeField::name:
        node.name = text(field);
        break;
      case NodeField::type:
        type = number(field);
        break;
      case NodeField::control_after:
      case NodeField::data_after:
        add_numbers(field, after);
        break;
      case NodeField::micros:
        micros = number(field);
        break;
      case NodeField::attribute:
        keep(attribute(text(field)), attributes);
        break;
      default:
        field.skip();
      }
    if (type == NodeType::compute)
      node.duration = duration(micros, attributes);
    else if (type == NodeType::send || type == NodeType::receive)
      set_transfer(type == NodeType::send, attributes, node);
    else
      refuse(fmt::format("node {} is of type {}; only COMP, COMM_SEND and COMM_RECV are read", in_quotes(node.name),
                         type));
    if (!position_.emplace(id, workload_.nodes.size()).second) refuse(fmt::format("two nodes have the id {}", id));
    workload_.nodes.push_back(std::move(node));
    after_.push_back(std::move(after));
  }

  static void keep(const Attribute& found, Attributes& attributes) {
    if (found.name == "comm_src") attributes.source = found.value;
    if (found.name == "comm_dst") attributes.destination = found.value;
    if (found.name == "comm_tag") attributes.tag = found.value;
    if (found.name == "comm_size") attributes.size = found.value;
    if (found.name == "duration_ns") attributes.nanoseconds = found.value;
  }

  [[nodiscard]] Duration duration(std::uint64_t micros, const Attributes& attributes) const {
    const auto longest = static_cast<std::uint64_t>(max_duration.count());
    if (attributes.nanoseconds.value_or(0) > longest || micros > longest / ns_per_micro)
      refuse(fmt::format("a node lasts longer than {}", format_duration(max_duration)));
    const auto rounded = static_cast<std::int64_t>(micros) * ns_per_micro;
    return Duration{attributes.nanoseconds ? static_cast<std::int64_t>(*attributes.nanoseconds) : rounded};
  }

  void set_transfer(bool sends, const Attributes& attributes, WorkloadNode& node) const {
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!attributes.source || !attributes.destination || !attributes.size)
      refuse(fmt::format("node {} lacks comm_src, comm_dst or comm_size", in_quotes(node.name)));
    if (const std::uint64_t own = sends ? *attributes.source : *attributes.destination; own != rank_)
      refuse(fmt::format("node {} of rank {} is of rank {}", in_quotes(node.name), rank_, own));
    const std::uint64_t peer = sends ? *attributes.destination : *attributes.source;
    if (peer > std::numeric_limits<std::uint32_t>::max() || *attributes.size > largest)
      refuse(fmt::format("node {} has a rank or size that can not be", in_quotes(node.name)));
    node.kind = sends ? WorkloadKind::send : WorkloadKind::receive;
    node.peer = static_cast<std::uint32_t>(peer);
    node.tag = attributes.tag.value_or(0);
    node.bytes = Bytes{static_cast<std::int64_t>(*attributes.size)};
  }

  const NamedBytes& file_;
  std::uint32_t rank_;
  Workload& workload_;
  std::size_t first_;
  std::string_view rest_;                                   ///< of the file
  std::vector<std::vector<std::uint64_t>> after_;           ///< by node of this rank: ids
  std::unordered_map<std::uint64_t, std::size_t> position_; ///< by id; only looked up in
};

} // namespace

std::vector<NamedBytes> write_chakra(const TaskGraph& graph, std::string_view prefix) {
  const Workload workload = workload_of(graph);
  std::vector<NamedBytes> files(workload.ranks);
  std::string metadata;
  protozero::pbf_builder<MetadataField>{metadata}.add_string(MetadataField::version, "0.0.4");
  for (std::size_t rank = 0, i = 0; rank < workload.ranks; ++rank) {
    files[rank].name = fmt::format("{}.{}.et", prefix, rank);
    append_message(files[rank].bytes, metadata);
    std::int64_t worked = 0;  // nanoseconds, of the rank so far
    std::int64_t written = 0; // microseconds
    for (const std::size_t first = i; i < workload.nodes.size() && workload.nodes[i].rank == rank; ++i) {
      worked += workload.nodes[i].duration.count();
      const std::int64_t micros = divide_rounded(worked, ns_per_micro) - written;
      written += micros;
      append_message(files[rank].bytes, message_of(workload.nodes[i], i, first, micros));
    }
  }
  return files;
}

Workload read_chakra(std::span<const NamedBytes> files) {
  Workload workload;
  workload.ranks = files.size();
  for (std::size_t rank = 0; rank < files.size(); ++rank)
    RankReader{files[rank], static_cast<std::uint32_t>(rank), workload}.read();
  match_transfers(workload, files.empty() ? std::string_view{"no files"} : files.front().name);
  return workload;
}

} // namespace ppsim::traces
