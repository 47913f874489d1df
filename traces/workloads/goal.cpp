// GOAL, the text that LogGOPSim's txt2bin reads:
//
//   num_ranks 2
//   rank 0 {
//   c0F0: calc 1000000 cpu 0
//   s0SEND_F0: send 4096b to 1 tag 0 cpu 0
//   s0SEND_F0 requires c0F0
//   }
//
// A number after calc is nanoseconds. `a requires b`: a starts when b has ended; `a irequires b`: when b has started.
// LogGOPSim starts what is ready as soon as its cpu is free, even where what it required ended later on another cpu. So
// all of a rank is on one: a receive moves on the clock that the tasks go by. Without -o, -O and -G it takes none of
// it.

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "schedules/formats.hpp"
#include "workload_nodes.hpp"

namespace ppsim::traces {
namespace {

constexpr std::string_view how_to = "ppsim simulate --goal FILE writes such files";
constexpr std::size_t most_ranks = 1'000'000;
constexpr auto largest_tag = std::uint64_t{std::numeric_limits<std::uint32_t>::max()};

/// The name of a node as a label, which begins with a letter and holds letters, digits and '_'.
std::string label_of(const WorkloadNode& node) {
  constexpr std::string_view letters = "csr";
  std::string label{letters[static_cast<std::size_t>(node.kind)]};
  for (const char c : node.name) {
    const bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    label += is_letter || is_digit(c) ? c : '_';
  }
  return label;
}

class GoalReader {
public:
  GoalReader(std::string_view text, std::string_view where) : text_{text}, where_{where} {}

  Workload read() {
    while (!text_.empty()) {
      ++line_;
      const std::string_view line = take_line(text_);
      split(line.substr(0, line.find("//")), words_);
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
      refuse(fmt::format("{} is no number from 0 to {}", in_quotes(text), most), how_to);
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
    if (!label.ends_with(':')) refuse(fmt::format("{} is no statement", in_quotes(label)), how_to);
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
      refuse(fmt::format("{} is no operation", in_quotes(word(1))), "operations are calc, send and recv");
    }
    for (; rest < words_.size(); rest += 2) {
      const std::uint64_t value = number(word(rest + 1), largest_tag);
      if (word(rest) == "tag") node.tag = value;
      if (word(rest) == "cpu") node.cpu = static_cast<std::uint32_t>(value);
      if (word(rest) != "tag" && word(rest) != "cpu" && word(rest) != "nic")
        refuse(fmt::format("{} is not understood", in_quotes(word(rest))), how_to);
    }
    if (!labels_.emplace(std::string{label}, workload_.nodes.size()).second)
      refuse(fmt::format("the label {} is there twice", in_quotes(label)), how_to);
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

std::string write_goal(const TaskGraph& graph) {
  const Workload workload = workload_of(graph);
  std::string out;
  const auto put = [&]<class... Arguments>(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    out += fmt::format(format, std::forward<Arguments>(arguments)...);
  };
  put("num_ranks {}\n", workload.ranks);
  std::size_t i = 0;
  for (std::size_t rank = 0; rank < workload.ranks; ++rank) {
    put("\nrank {} {{\n", rank);
    for (; i < workload.nodes.size() && workload.nodes[i].rank == rank; ++i) {
      const WorkloadNode& node = workload.nodes[i];
      const std::string label = label_of(node);
      if (node.kind == WorkloadKind::compute)
        put("{}: calc {} cpu 0\n", label, node.duration.count());
      else if (node.kind == WorkloadKind::send)
        put("{}: send {}b to {} tag {} cpu 0\n", label, node.bytes.count(), node.peer, node.tag);
      else
        put("{}: recv {}b from {} tag {} cpu 0\n", label, node.bytes.count(), node.peer, node.tag);
      for (const std::size_t before : node.after) put("{} requires {}\n", label, label_of(workload.nodes[before]));
    }
    put("}}\n");
  }
  return out;
}

Workload read_goal(std::string_view text, std::string_view where) {
  return GoalReader{text, where}.read();
}

} // namespace ppsim::traces
