// MLCommons Chakra execution traces: a sequence of protobuf messages, each after its length as a varint:
// GlobalMetadata, then a Node each (chakra/schema/protobuf/et_def.proto). The few fields that are needed are written
// and read here, so that there is no dependency on protobuf:
//
//   GlobalMetadata  1 version
//   Node            1 id, 2 name, 3 type, 4 ctrl_deps, 5 data_deps, 7 duration_micros, 10 attr
//   AttributeProto  1 name, 3 to 31 one value: 7 int32, 9 int64, 11 uint32, 13 uint64, 27 bool

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <unordered_map>

#include "workload_nodes.hpp"

namespace ppsim::traces {
namespace {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };
constexpr unsigned payload_bits = 7; ///< of a byte of a varint; the eighth says that more follow
constexpr unsigned wire_bits = 3;    ///< of a field's key

constexpr std::uint64_t version_field = 1;
enum Field : std::uint64_t {
  id = 1,
  name = 2,
  type = 3,
  control_after = 4,
  data_after = 5,
  micros = 7,
  attribute = 10
};
enum AttributeField : std::uint64_t { key = 1, int32 = 7, int64 = 9, uint32 = 11, uint64 = 13, boolean = 27 };
enum NodeType : std::uint64_t { compute = 4, send = 5, receive = 6 };

constexpr std::int64_t ns_per_micro = 1000;

class Message {
public:
  void varint(std::uint64_t value) {
    constexpr std::uint64_t more = std::uint64_t{1} << payload_bits;
    for (; value >= more; value >>= payload_bits) bytes_.push_back(static_cast<char>((value & (more - 1)) | more));
    bytes_.push_back(static_cast<char>(value));
  }
  void number(std::uint64_t field, std::uint64_t value) {
    varint((field << wire_bits) | static_cast<std::uint64_t>(WireType::varint));
    varint(value);
  }
  void text(std::uint64_t field, std::string_view value) {
    varint((field << wire_bits) | static_cast<std::uint64_t>(WireType::length));
    varint(value.size());
    bytes_ += value;
  }
  void attribute(std::string_view name, AttributeField kind, std::uint64_t value) {
    Message attribute;
    attribute.text(AttributeField::key, name);
    attribute.number(kind, value);
    text(Field::attribute, attribute.bytes_);
  }
  /// Behind its length.
  void append_to(std::string& file) const {
    Message length;
    length.varint(bytes_.size());
    file += length.bytes_;
    file += bytes_;
  }

private:
  std::string bytes_;
};

std::uint64_t type_of(WorkloadKind kind) {
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
Message message_of(const WorkloadNode& node, std::size_t position, std::size_t first, std::int64_t micros) {
  Message message;
  message.number(Field::id, position - first);
  message.text(Field::name, node.name);
  message.number(Field::type, type_of(node.kind));
  for (const std::size_t before : node.after) message.number(Field::data_after, before - first);
  if (micros > 0) message.number(Field::micros, static_cast<std::uint64_t>(micros));
  message.attribute("is_cpu_op", AttributeField::boolean, 0);
  if (node.kind == WorkloadKind::compute) {
    message.attribute("duration_ns", AttributeField::int64, static_cast<std::uint64_t>(node.duration.count()));
    return message;
  }
  const bool sends = node.kind == WorkloadKind::send;
  message.attribute("comm_src", AttributeField::int64, sends ? node.rank : node.peer);
  message.attribute("comm_dst", AttributeField::int64, sends ? node.peer : node.rank);
  message.attribute("comm_tag", AttributeField::int64, node.tag);
  message.attribute("comm_size", AttributeField::int64, static_cast<std::uint64_t>(node.bytes.count()));
  return message;
}

/// Reads fields from a message, or messages from a file. Throws Error when it is cut off or broken.
class Fields {
public:
  Fields(std::string_view bytes, std::string_view where) : bytes_{bytes}, where_{where} {}
  [[nodiscard]] bool more() const { return !bytes_.empty(); }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    constexpr unsigned all_bits = 64;
    for (unsigned shift = 0; shift < all_bits; shift += payload_bits) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      constexpr unsigned char more = 0x80;
      value |= static_cast<std::uint64_t>(byte & (more - 1U)) << shift;
      if ((byte & more) == 0) return value;
    }
    refuse("a number has more than 64 bits");
  }
  std::string_view text() { return take(varint()); }

  /// The next field: its number. Its value is then read by value() or text_value().
  std::uint64_t next() {
    const std::uint64_t found = varint();
    wire_ = static_cast<WireType>(found & ((1U << wire_bits) - 1));
    return found >> wire_bits;
  }
  std::uint64_t value() {
    if (wire_ != WireType::varint) refuse("a field that is a number is of another type");
    return varint();
  }
  std::string_view text_value() {
    if (wire_ != WireType::length) refuse("a field that is text or a message is of another type");
    return text();
  }
  /// Passes a repeated number on, whether it is packed or not.
  template <class Take>
  void values(const Take& take_value) {
    if (wire_ != WireType::length) return take_value(value());
    Fields packed{text(), where_};
    while (packed.more()) take_value(packed.varint());
  }
  void skip() {
    constexpr std::size_t long_bytes = 8;
    constexpr std::size_t short_bytes = 4;
    switch (wire_) {
    case WireType::varint:
      varint();
      return;
    case WireType::fixed64:
      take(long_bytes);
      return;
    case WireType::length:
      text();
      return;
    case WireType::fixed32:
      take(short_bytes);
      return;
    }
    refuse("a field is of a type that protobuf does not have");
  }
  [[noreturn]] void refuse(std::string what) const {
    throw Error{ExitCode::bad_input,
                {std::string{where_}, std::move(what), "is this a Chakra execution trace in protobuf (*.et)?"}};
  }

private:
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size()) refuse("the file ends inside a message");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
  std::string_view where_;
  WireType wire_ = WireType::varint;
};

/// The nodes of one rank.
class RankReader {
public:
  RankReader(const NamedBytes& file, std::uint32_t rank, Workload& workload)
      : file_{file}, rank_{rank}, workload_{workload}, first_{workload.nodes.size()} {}

  void read() {
    Fields messages{file_.bytes, file_.name};
    if (!messages.more()) messages.refuse("the file is empty");
    check_version(messages.text());
    while (messages.more()) node(messages.text());
    for (std::size_t i = 0; i < after_.size(); ++i)
      for (const std::uint64_t before : after_[i]) {
        const auto found = position_.find(before);
        if (found == position_.end())
          messages.refuse(fmt::format("node {} depends on node {}, which is not there",
                                      in_quotes(workload_.nodes[first_ + i].name), before));
        workload_.nodes[first_ + i].after.push_back(found->second);
      }
  }

private:
  void check_version(std::string_view metadata) const {
    Fields fields{metadata, file_.name};
    while (fields.more()) {
      if (fields.next() != version_field) {
        fields.skip();
        continue;
      }
      if (const std::string_view version = fields.text_value(); !version.starts_with("0.0."))
        fields.refuse(fmt::format("is of version {} of the schema, not 0.0.x", in_quotes(version)));
      return;
    }
    fields.refuse("does not begin with a version of the schema");
  }

  /// A whole number that an attribute holds; none for other values.
  struct Attribute {
    std::string_view name;
    std::optional<std::uint64_t> value;
  };
  [[nodiscard]] Attribute attribute(std::string_view message) const {
    Fields fields{message, file_.name};
    Attribute found;
    while (fields.more()) switch (fields.next()) {
      case AttributeField::key:
        found.name = fields.text_value();
        break;
      case AttributeField::int32:
      case AttributeField::int64:
      case AttributeField::uint32:
      case AttributeField::uint64:
        found.value = fields.value();
        break;
      default:
        fields.skip();
      }
    return found;
  }

  /// What the attributes of a node say.
  struct Attributes {
    std::optional<std::uint64_t> source, destination, tag, size, nanoseconds;
  };

  void node(std::string_view message) {
    Fields fields{message, file_.name};
    WorkloadNode node{.rank = rank_};
    std::uint64_t id = 0;
    std::uint64_t type = 0;
    std::uint64_t micros = 0;
    std::vector<std::uint64_t> after;
    Attributes attributes;
    const auto depends = [&](std::uint64_t before) { after.push_back(before); };
    while (fields.more()) switch (fields.next()) {
      case Field::id:
        id = fields.value();
        break;
      case Field::name:
        node.name = fields.text_value();
        break;
      case Field::type:
        type = fields.value();
        break;
      case Field::control_after:
      case Field::data_after:
        fields.values(depends);
        break;
      case Field::micros:
        micros = fields.value();
        break;
      case Field::attribute:
        keep(attribute(fields.text_value()), attributes);
        break;
      default:
        fields.skip();
      }
    if (type == NodeType::compute)
      node.duration = duration(fields, micros, attributes);
    else if (type == NodeType::send || type == NodeType::receive)
      set_transfer(fields, type == NodeType::send, attributes, node);
    else
      fields.refuse(fmt::format("node {} is of type {}; only COMP, COMM_SEND and COMM_RECV are read",
                                in_quotes(node.name), type));
    if (!position_.emplace(id, workload_.nodes.size()).second)
      fields.refuse(fmt::format("two nodes have the id {}", id));
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

  static Duration duration(const Fields& fields, std::uint64_t micros, const Attributes& attributes) {
    const auto longest = static_cast<std::uint64_t>(max_duration.count());
    if (attributes.nanoseconds.value_or(0) > longest || micros > longest / ns_per_micro)
      fields.refuse(fmt::format("a node lasts longer than {}", format_duration(max_duration)));
    const auto rounded = static_cast<std::int64_t>(micros) * ns_per_micro;
    return Duration{attributes.nanoseconds ? static_cast<std::int64_t>(*attributes.nanoseconds) : rounded};
  }

  void set_transfer(const Fields& fields, bool sends, const Attributes& attributes, WorkloadNode& node) const {
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!attributes.source || !attributes.destination || !attributes.size)
      fields.refuse(fmt::format("node {} lacks comm_src, comm_dst or comm_size", in_quotes(node.name)));
    if (const std::uint64_t own = sends ? *attributes.source : *attributes.destination; own != rank_)
      fields.refuse(fmt::format("node {} of rank {} is of rank {}", in_quotes(node.name), rank_, own));
    const std::uint64_t peer = sends ? *attributes.destination : *attributes.source;
    if (peer > std::numeric_limits<std::uint32_t>::max() || *attributes.size > largest)
      fields.refuse(fmt::format("node {} has a rank or size that can not be", in_quotes(node.name)));
    node.kind = sends ? WorkloadKind::send : WorkloadKind::receive;
    node.peer = static_cast<std::uint32_t>(peer);
    node.tag = attributes.tag.value_or(0);
    node.bytes = Bytes{static_cast<std::int64_t>(*attributes.size)};
  }

  const NamedBytes& file_;
  std::uint32_t rank_;
  Workload& workload_;
  std::size_t first_;
  std::vector<std::vector<std::uint64_t>> after_;           ///< by node of this rank: ids
  std::unordered_map<std::uint64_t, std::size_t> position_; ///< by id; only looked up in
};

} // namespace

std::vector<NamedBytes> write_chakra(const TaskGraph& graph, std::string_view prefix) {
  const Workload workload = workload_of(graph);
  std::vector<NamedBytes> files(workload.ranks);
  Message metadata;
  metadata.text(version_field, "0.0.4");
  for (std::size_t rank = 0, i = 0; rank < workload.ranks; ++rank) {
    files[rank].name = fmt::format("{}.{}.et", prefix, rank);
    metadata.append_to(files[rank].bytes);
    std::int64_t worked = 0;  // nanoseconds, of the rank so far
    std::int64_t written = 0; // microseconds
    for (const std::size_t first = i; i < workload.nodes.size() && workload.nodes[i].rank == rank; ++i) {
      worked += workload.nodes[i].duration.count();
      const std::int64_t micros = divide_rounded(worked, ns_per_micro) - written;
      written += micros;
      message_of(workload.nodes[i], i, first, micros).append_to(files[rank].bytes);
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
