// Chakra (traces/workloads/chakra.cpp shows the format) and GOAL (goal.cpp there), read.

#include "workload_reading.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "traces/schedules/formats.hpp"
#include <protozero/pbf_message.hpp>

namespace ppsim::test {
namespace {

using traces::NamedBytes;
using traces::take_digits;
using traces::take_line;
using traces::value_of;

/// What both sides of a transfer agree on: source, destination, tag and bytes.
auto ends_of(const WorkloadNode& node) {
  const bool sends = node.kind == WorkloadKind::send;
  return std::tuple{sends ? node.rank : node.peer, sends ? node.peer : node.rank, node.tag, node.bytes.count()};
}

[[noreturn]] void refuse_alone(const WorkloadNode& node, std::string_view where) {
  const auto [from, to, tag, bytes] = ends_of(node);
  const bool sends = node.kind == WorkloadKind::send;
  throw Error{ExitCode::bad_input,
              {std::string{where},
               fmt::format("the {} of {} bytes from rank {} to rank {} with tag {} has no {} on the other side",
                           sends ? "send" : "receive", bytes, from, to, tag, sends ? "receive" : "send"),
               "give both the same source, destination, tag and size"}};
}

void match_transfers(Workload& workload, std::string_view where) {
  const std::vector<WorkloadNode>& nodes = workload.nodes;
  workload.partner.resize(nodes.size());
  std::vector<std::size_t> sends;
  std::vector<std::size_t> receives;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    workload.partner[i] = i;
    if (nodes[i].kind == WorkloadKind::send) sends.push_back(i);
    if (nodes[i].kind == WorkloadKind::receive) receives.push_back(i);
  }
  const auto key = [&](std::size_t i) { return ends_of(nodes[i]); };
  std::ranges::sort(sends, {}, key);
  std::ranges::sort(receives, {}, key);
  for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
    if (i < sends.size() && i < receives.size() && key(sends[i]) == key(receives[i])) {
      workload.partner[sends[i]] = receives[i];
      workload.partner[receives[i]] = sends[i];
      continue;
    }
    const bool send_is_alone = i >= receives.size() || (i < sends.size() && key(sends[i]) < key(receives[i]));
    refuse_alone(nodes[send_is_alone ? sends[i] : receives[i]], where);
  }
}

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

  /// Values of the attributes of a node.
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
      refuse(fmt::format("node {} has a rank or size that cannot be", in_quotes(node.name)));
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

constexpr std::string_view how_to = "ppsim simulate --goal FILE writes such files";
constexpr std::size_t most_ranks = 1'000'000;
constexpr auto largest_tag = std::uint64_t{std::numeric_limits<std::uint32_t>::max()};

class GoalReader {
public:
  GoalReader(std::string_view text, std::string_view where) : text_{text}, where_{where} {}

  Workload read() {
    while (!text_.empty()) {
      ++line_;
      const std::string_view line = take_line(text_);
      traces::split(line.substr(0, line.find("//")), words_);
      if (!words_.empty()) statement();
    }
    if (open_) refuse("the file ends before the '}' of a rank", how_to);
    if (workload_.ranks == 0) refuse("there is no num_ranks", how_to);
    if (next_rank_ < workload_.ranks)
      refuse(fmt::format("the file ends behind {} of {} ranks", next_rank_, workload_.ranks),
             "copy it again: a part is missing");
    match_transfers(workload_, where_);
    return std::move(workload_);
  }

private:
  [[noreturn]] void refuse(std::string what, std::string_view hint) const {
    throw Error{ExitCode::bad_input, {fmt::format("{}:{}", where_, line_), std::move(what), std::string{hint}}};
  }

  [[nodiscard]] std::string_view word(std::size_t at) const {
    return at < words_.size() ? words_[at] : std::string_view{};
  }

  [[nodiscard]] std::uint64_t number(std::string_view text, std::uint64_t most) const {
    std::string_view rest = text;
    const std::string_view digits = take_digits(rest);
    if (digits.empty() || !rest.empty() || value_of(digits) > most)
      refuse(fmt::format("{} is not a number from 0 to {}", in_quotes(text), most), how_to);
    return value_of(digits);
  }

  void statement() {
    if (word(0) == "num_ranks" && words_.size() == 2 && workload_.ranks == 0) {
      workload_.ranks = number(word(1), most_ranks);
      return;
    }
    if (word(0) == "rank" && word(2) == "{" && words_.size() == 3 && !open_) return begin_rank();
    if (!open_) refuse(fmt::format("{} stands outside of a rank", in_quotes(word(0))), how_to);
    if (word(0) == "}" && words_.size() == 1) {
      open_ = false;
    } else if ((word(1) == "requires" || word(1) == "irequires") && words_.size() == 3) {
      require();
    } else {
      operation();
    }
  }

  void begin_rank() {
    const std::uint64_t rank = number(word(1), most_ranks);
    if (rank != next_rank_ || rank >= workload_.ranks)
      refuse(fmt::format("rank {} stands here, where {} of {} is expected", rank, next_rank_, workload_.ranks),
             "give all ranks, in their order");
    ++next_rank_;
    open_ = true;
    labels_.clear();
  }

  [[nodiscard]] std::size_t find(std::string_view label) const {
    const auto found = labels_.find(std::string{label});
    if (found == labels_.end()) refuse(fmt::format("the label {} is not there", in_quotes(label)), how_to);
    return found->second;
  }

  void require() {
    if (word(1) == "irequires")
      refuse("'irequires' is not read: it says that something starts with another's start", "use 'requires'");
    workload_.nodes[find(word(0))].after.push_back(find(word(2)));
  }

  /// "label: calc 5 cpu 0", "label: send 8b to 1 tag 2 cpu 1 nic 0"
  void operation() {
    std::string_view label = word(0);
    if (!label.ends_with(':')) refuse(fmt::format("{} is not a statement", in_quotes(label)), how_to);
    label.remove_suffix(1);
    WorkloadNode node{.rank = static_cast<std::uint32_t>(next_rank_ - 1), .name = std::string{label}};
    std::size_t rest = 3;
    if (word(1) == "calc") {
      node.duration =
          Duration{static_cast<std::int64_t>(number(word(2), static_cast<std::uint64_t>(max_duration.count())))};
    } else if ((word(1) == "send" && word(3) == "to") || (word(1) == "recv" && word(3) == "from")) {
      node.kind = word(1) == "send" ? WorkloadKind::send : WorkloadKind::receive;
      std::string_view size = word(2);
      if (!size.ends_with('b')) refuse(fmt::format("the size {} does not end with b", in_quotes(size)), how_to);
      size.remove_suffix(1);
      constexpr std::uint64_t most = 1'000'000'000'000'000'000;
      node.bytes = Bytes{static_cast<std::int64_t>(number(size, most))};
      node.peer = static_cast<std::uint32_t>(number(word(4), most_ranks));
      rest = 5;
    } else {
      refuse(fmt::format("{} is not an operation", in_quotes(word(1))), "operations are calc, send and recv");
    }
    for (; rest < words_.size(); rest += 2) {
      const std::uint64_t value = number(word(rest + 1), largest_tag);
      if (word(rest) == "tag") node.tag = value;
      if (word(rest) == "cpu") node.cpu = static_cast<std::uint32_t>(value);
      if (word(rest) != "tag" && word(rest) != "cpu" && word(rest) != "nic")
        refuse(fmt::format("{} is not understood", in_quotes(word(rest))), how_to);
    }
    if (!labels_.emplace(std::string{label}, workload_.nodes.size()).second)
      refuse(fmt::format("the label {} appears twice", in_quotes(label)), how_to);
    workload_.nodes.push_back(std::move(node));
  }

  std::string_view text_;
  std::string_view where_;
  std::size_t line_ = 0;
  std::vector<std::string_view> words_;
  bool open_ = false;
  std::size_t next_rank_ = 0;
  std::unordered_map<std::string, std::size_t> labels_; ///< of the rank at hand; only looked up in
  Workload workload_;
};

} // namespace

Workload read_chakra(std::span<const NamedBytes> files) {
  Workload workload;
  workload.ranks = files.size();
  for (std::size_t rank = 0; rank < files.size(); ++rank)
    RankReader{files[rank], static_cast<std::uint32_t>(rank), workload}.read();
  match_transfers(workload, files.empty() ? std::string_view{"no files"} : files.front().name);
  return workload;
}

Workload read_goal(std::string_view text, std::string_view where) {
  return GoalReader{text, where}.read();
}

} // namespace ppsim::test
