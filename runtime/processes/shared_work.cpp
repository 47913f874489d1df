#include "shared_work.hpp"

#include "ppsim/base/parallel.hpp"
#include "ppsim/runtime/launch.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "handout.hpp"
#include "process_group.hpp"
#include "stage/result_bytes.hpp"

namespace ppsim::runtime {

namespace {

Handout::Moment moment() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

/// What is said where the processes end too early.
std::string undone() {
  return "the work is not done";
}

/// The end of all work, where a stretch is expected.
constexpr Stretch no_more{};

/// Another process, as the first one sees it. Messages are owned by what is pending: the work may end by an exception.
class Companion {
public:
  Companion(MessagePassing& messages, std::size_t rank) : messages_{messages}, rank_{rank} {}

  [[nodiscard]] bool is_idle() const { return !stretch_; }
  void give(Stretch stretch, const GiveUp& give_up) {
    send(stretch, give_up);
    stretch_ = stretch;
    size_ = std::make_shared<std::uint64_t>();
    pending_ = Pending::receive(messages_, size_.get(), sizeof *size_, rank_, number(Tag::exchange), size_);
  }
  void dismiss(const GiveUp& give_up) { send(no_more, give_up); }

  /// What it made of its stretch, once that is here.
  std::optional<std::pair<Stretch, std::string>> made() {
    if (!pending_ || !pending_->test()) return std::nullopt;
    if (!made_) {
      made_ = std::make_shared<std::string>(*size_, '\0');
      pending_ = Pending::receive(messages_, made_->data(), made_->size(), rank_, number(Tag::exchange), made_);
      if (!pending_->test()) return std::nullopt;
    }
    pending_.reset();
    return std::pair{*std::exchange(stretch_, std::nullopt), std::move(*std::exchange(made_, nullptr))};
  }

private:
  void send(Stretch stretch, const GiveUp& give_up) {
    const auto content = std::make_shared<const Stretch>(stretch);
    Pending::send(messages_, content.get(), sizeof stretch, rank_, number(Tag::exchange), content).wait(give_up);
  }

  MessagePassing& messages_;
  std::size_t rank_;
  std::optional<Stretch> stretch_; ///< that it works on
  std::shared_ptr<std::uint64_t> size_;
  std::shared_ptr<std::string> made_;
  std::optional<Pending> pending_;
};

/// The messages of the first process: what it hands out, and what comes back.
class Leader {
public:
  Leader(MessagePassing& messages, Handout handout, const MakeStretch& make, const TakeMade& take,
         const GiveUp& give_up)
      : make_{make}, take_{take}, give_up_{give_up}, handout_{std::move(handout)} {
    for (std::size_t rank = 1; rank < messages.size(); ++rank) companions_.emplace_back(messages, rank);
  }

  void run() {
    wait_until([this] { return advance(); }, give_up_);
    for (Companion& companion : companions_) companion.dismiss(give_up_);
  }

private:
  /// Whether all is done.
  bool advance() {
    for (Companion& companion : companions_)
      if (auto made = companion.made()) handout_.put(made->first, std::move(made->second), moment(), take_);
    if (own_.valid() && own_.wait_for(std::chrono::seconds{0}) == std::future_status::ready)
      handout_.put(own_stretch_, own_.get(), moment(), take_);
    hand_out();
    return handout_.is_over() && !own_.valid() && std::ranges::all_of(companions_, &Companion::is_idle);
  }

  void hand_out() {
    for (Companion& companion : companions_)
      if (const auto stretch = companion.is_idle() ? handout_.next(moment()) : std::nullopt)
        companion.give(*stretch, give_up_);
    const auto stretch = own_.valid() ? std::nullopt : handout_.next(moment());
    if (!stretch) return;
    own_stretch_ = *stretch;
    own_ = std::async(std::launch::async, make_, *stretch);
  }

  const MakeStretch& make_;
  const TakeMade& take_;
  const GiveUp& give_up_;
  std::vector<Companion> companions_;
  Handout handout_;
  Stretch own_stretch_;
  std::future<std::string> own_; ///< the first process's own, beside its messages
};

void follow(MessagePassing& messages, const MakeStretch& make, const GiveUp& give_up) {
  while (true) {
    const auto stretch = std::make_shared<Stretch>();
    Pending::receive(messages, stretch.get(), sizeof *stretch, 0, number(Tag::exchange), stretch).wait(give_up);
    if (*stretch == no_more) return;
    const auto made = std::make_shared<const std::string>(make(*stretch));
    const auto size = std::make_shared<const std::uint64_t>(made->size());
    Pending::send(messages, size.get(), sizeof *size, 0, number(Tag::exchange), size).wait(give_up);
    Pending::send(messages, made->data(), made->size(), 0, number(Tag::exchange), made).wait(give_up);
  }
}

} // namespace

void share_work(MessagePassing& messages, Stretch all, const MakeStretch& make, const TakeMade& take,
                const GiveUp& give_up) {
  if (messages.rank() == 0)
    Leader{messages, Handout{all}, make, take, give_up}.run();
  else
    follow(messages, make, give_up);
}

std::vector<std::string> share_round(MessagePassing& messages, std::size_t count, std::size_t threads,
                                     const MakeOne& make, const GiveUp& give_up) {
  const MakeStretch make_stretch = [&](Stretch stretch) {
    std::vector<std::string> made(stretch.end - stretch.begin);
    for_each_index(made.size(), threads, [&](std::size_t i) { made[i] = make(stretch.begin + i); });
    ByteWriter writer;
    for (const std::string& text : made) writer.put(text);
    return std::string{reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
  };
  Message all;
  if (messages.rank() == 0) {
    // All wait for the last stretch of a round: near its end there are to be some for each.
    const std::size_t longest = std::max(threads, count / (8 * messages.size()));
    const auto take = [&](Stretch, const std::string& made) {
      const auto bytes = std::as_bytes(std::span{made});
      all.insert(all.end(), bytes.begin(), bytes.end());
      return true;
    };
    Leader{messages, Handout{{0, count}, threads, longest}, make_stretch, take, give_up}.run();
  } else
    follow(messages, make_stretch, give_up);
  const Message bytes = broadcast(messages, std::move(all), give_up, Wait::eager);
  std::vector<std::string> made(count);
  ByteReader reader{bytes};
  for (std::string& text : made) reader.get(text);
  reader.end();
  return made;
}

bool has_companions() {
  const auto launched = launch();
  return launched && launched->size != 1U;
}

SharedRounds::~SharedRounds() {
  if (started_) ProcessGroup::get().set_doing(nullptr);
}

std::vector<std::string> SharedRounds::make_all(std::size_t count, const MakeOne& make) {
  ProcessGroup& group = ProcessGroup::get();
  // Said between rounds too: all of them are one work.
  if (!std::exchange(started_, true)) group.set_doing(undone);
  return share_round(group.messages(), count, threads_, make, [] {});
}

void share_work(Stretch all, const MakeStretch& make, const TakeMade& take) {
  ProcessGroup& group = ProcessGroup::get();
  group.set_doing(undone);
  share_work(group.messages(), all, make, take, [] {});
  group.set_doing(nullptr);
}

} // namespace ppsim::runtime
