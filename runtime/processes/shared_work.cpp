#include "shared_work.hpp"

#include "ppsim/base/parallel.hpp"
#include "ppsim/runtime/launch.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "handout.hpp"
#include "lives.hpp"
#include "process_group.hpp"
#include "stage/result_bytes.hpp"

namespace ppsim::runtime {

namespace {

Handout::Moment moment() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

/// What is said where the processes end too early.
std::string undone() {
  return "the work is not done; the remaining ranks finish it if mpirun lets them (--enable-recovery)";
}

/// The end of all work, where a stretch is expected; and where somebody was lost meanwhile.
constexpr Stretch no_more{}, no_more_after_loss{1, 1};

/// Another process, as the first one sees it. Messages are owned by what is pending: the work may end by an exception.
class Companion {
public:
  Companion(Lives& lives, std::size_t rank) : lives_{lives}, rank_{rank} {}

  [[nodiscard]] const std::optional<Stretch>& stretch() const { return stretch_; } ///< that it works on
  [[nodiscard]] bool is_lost() { return stretch_ && lives_.is_lost(rank_); }
  void give(Stretch stretch) {
    stretch_ = stretch;
    size_ = std::make_shared<std::uint64_t>();
    pending_ = Pending::receive(lives_.messages(), size_.get(), sizeof *size_, rank_, number(Tag::exchange), size_);
    send(stretch);
  }
  void dismiss() { send(lives_.any_lost() ? no_more_after_loss : no_more); }
  [[nodiscard]] bool is_dismissed() { return sent_->test() || lives_.is_lost(rank_); }

  /// What it made of its stretch, once that is here.
  std::optional<std::pair<Stretch, std::string>> made() {
    if (!pending_ || !pending_->test()) return std::nullopt;
    if (!made_) {
      made_ = std::make_shared<std::string>(*size_, '\0');
      pending_ = Pending::receive(lives_.messages(), made_->data(), made_->size(), rank_, number(Tag::exchange), made_);
      if (!pending_->test()) return std::nullopt;
    }
    pending_.reset();
    return std::pair{*std::exchange(stretch_, std::nullopt), std::move(*std::exchange(made_, nullptr))};
  }

private:
  /// Nobody waits for its end, as one that is lost takes nothing.
  void send(Stretch stretch) {
    lives_.begin(rank_);
    const auto content = std::make_shared<const Stretch>(stretch);
    sent_ = Pending::send(lives_.messages(), content.get(), sizeof stretch, rank_, number(Tag::exchange), content);
  }

  Lives& lives_;
  std::size_t rank_;
  std::optional<Stretch> stretch_;
  std::shared_ptr<std::uint64_t> size_;
  std::shared_ptr<std::string> made_;
  std::optional<Pending> pending_, sent_;
};

/// The messages of the first process: what it hands out, and what comes back.
class Leader {
public:
  Leader(Lives& lives, Handout handout, const MakeStretch& make, const TakeMade& take, const GiveUp& give_up)
      : lives_{lives}, make_{make}, take_{take}, give_up_{give_up}, handout_{std::move(handout)} {
    for (std::size_t rank = 1; rank < lives.messages().size(); ++rank)
      if (!lives.was_lost(rank)) companions_.emplace_back(lives, rank);
  }

  void run() {
    wait_until([this] { return advance(); }, give_up_);
    for (Companion& companion : companions_) companion.dismiss();
    wait_until([this] { return std::ranges::all_of(companions_, &Companion::is_dismissed); }, give_up_);
  }

private:
  /// Whether all is done.
  bool advance() {
    lives_.beat();
    for (Companion& companion : companions_)
      if (auto made = companion.made()) handout_.put(made->first, std::move(made->second), moment(), take_);
    companions_.remove_if([this](Companion& companion) {
      if (!companion.is_lost()) return false;
      handout_.give_back(*companion.stretch());
      return true;
    });
    if (own_.valid() && own_.wait_for(std::chrono::seconds{0}) == std::future_status::ready)
      handout_.put(own_stretch_, own_.get(), moment(), take_);
    hand_out();
    return handout_.is_over() && !own_.valid() && std::ranges::none_of(companions_, [](const Companion& companion) {
             return companion.stretch().has_value();
           });
  }

  void hand_out() {
    for (Companion& companion : companions_)
      if (const auto stretch = companion.stretch() ? std::nullopt : handout_.next(moment())) companion.give(*stretch);
    const auto stretch = own_.valid() ? std::nullopt : handout_.next(moment());
    if (!stretch) return;
    own_stretch_ = *stretch;
    own_ = std::async(std::launch::async, make_, *stretch);
  }

  Lives& lives_;
  const MakeStretch& make_;
  const TakeMade& take_;
  const GiveUp& give_up_;
  std::list<Companion> companions_;
  Handout handout_;
  Stretch own_stretch_;
  std::future<std::string> own_; ///< the first process's own, beside its messages
};

/// What another process waits by.
GiveUp patience_with_first(Lives& lives, const GiveUp& give_up) {
  return [&] {
    give_up();
    lives.beat();
    lives.check_first();
  };
}

void follow(Lives& lives, const MakeStretch& make, const GiveUp& give_up) {
  MessagePassing& messages = lives.messages();
  const GiveUp patience = patience_with_first(lives, give_up);
  while (true) {
    const auto stretch = std::make_shared<Stretch>();
    Pending::receive(messages, stretch.get(), sizeof *stretch, 0, number(Tag::exchange), stretch).wait(patience);
    if (*stretch == no_more_after_loss) lives.tell_loss();
    if (stretch->begin == stretch->end) return;
    std::future<std::string> making = std::async(std::launch::async, make, *stretch);
    while (making.wait_for(lives.rules().beat) != std::future_status::ready) lives.beat();
    const auto made = std::make_shared<const std::string>(making.get());
    const auto size = std::make_shared<const std::uint64_t>(made->size());
    Pending::send(messages, size.get(), sizeof *size, 0, number(Tag::exchange), size).wait(patience);
    Pending::send(messages, made->data(), made->size(), 0, number(Tag::exchange), made).wait(patience);
  }
}

/// The first process's message, on all that are not lost.
Message give_all(Lives& lives, Message of_first, const GiveUp& give_up) {
  MessagePassing& messages = lives.messages();
  if (messages.rank() != 0)
    return receive_long(messages, 0, Tag::broadcast, patience_with_first(lives, give_up), Wait::eager);
  const auto message = std::make_shared<const Message>(std::move(of_first));
  struct Lost {};
  for (std::size_t rank = 1; rank < messages.size(); ++rank) {
    if (lives.was_lost(rank)) continue;
    lives.begin(rank);
    try {
      send_long(messages, message, rank, Tag::broadcast, [&] {
        give_up();
        if (lives.is_lost(rank)) throw Lost{};
      });
    } catch (const Lost&) { // the next stretches go to others
    }
  }
  return *message;
}

} // namespace

void share_work(Lives& lives, Stretch all, const MakeStretch& make, const TakeMade& take, const GiveUp& give_up) {
  if (lives.messages().rank() == 0)
    Leader{lives, Handout{all}, make, take, give_up}.run();
  else
    follow(lives, make, give_up);
}

std::vector<std::string> share_round(Lives& lives, std::size_t count, std::size_t threads, const MakeOne& make,
                                     const GiveUp& give_up) {
  const MakeStretch make_stretch = [&](Stretch stretch) {
    std::vector<std::string> made(stretch.end - stretch.begin);
    for_each_index(made.size(), threads, [&](std::size_t i) { made[i] = make(stretch.begin + i); });
    ByteWriter writer;
    for (const std::string& text : made) writer.put(text);
    return std::string{reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
  };
  Message all;
  if (lives.messages().rank() == 0) {
    // All wait for the last stretch of a round: near its end there are to be some for each.
    const std::size_t longest = std::max(threads, count / (8 * lives.messages().size()));
    const auto take = [&](Stretch, const std::string& made) {
      const auto bytes = std::as_bytes(std::span{made});
      all.insert(all.end(), bytes.begin(), bytes.end());
      return true;
    };
    Leader{lives, Handout{{0, count}, threads, longest}, make_stretch, take, give_up}.run();
  } else
    follow(lives, make_stretch, give_up);
  const Message bytes = give_all(lives, std::move(all), give_up);
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

namespace {

Lives lives_of(ProcessGroup& group) {
  return Lives{group.messages(),
               {.is_gone = [&](std::size_t rank) { return group.sees_gone(rank); },
                .on_loss = [&](std::size_t rank) { group.lose(rank); }}};
}

} // namespace

struct SharedRounds::State {
  explicit State(ProcessGroup& group) : lives{lives_of(group)} {}
  Lives lives;
};

SharedRounds::SharedRounds(std::size_t threads) : threads_{threads} {
  ProcessGroup& group = ProcessGroup::get();
  group.set_doing(undone); // said between rounds too: all of them are one work
  state_ = std::make_unique<State>(group);
}

SharedRounds::~SharedRounds() {
  ProcessGroup::get().set_doing(nullptr);
}

std::vector<std::string> SharedRounds::make_all(std::size_t count, const MakeOne& make) {
  return share_round(state_->lives, count, threads_, make, [] {});
}

void share_work(Stretch all, const MakeStretch& make, const TakeMade& take) {
  ProcessGroup& group = ProcessGroup::get();
  group.set_doing(undone);
  Lives lives = lives_of(group);
  share_work(lives, all, make, take, [] {});
  group.set_doing(nullptr);
}

} // namespace ppsim::runtime
