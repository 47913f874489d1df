// Terminal output: on a pseudo-terminal, whose other end the tests read.

#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "cli/terminal/progress.hpp"
#include "cli/terminal/terminal.hpp"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace ppsim::test::terminal_test {

using namespace ppsim::cli;
using namespace std::chrono_literals;

namespace {

/// A pseudo-terminal, 72 columns wide, that replaces one of the test's own streams while it exists.
class Terminal {
public:
  explicit Terminal(std::FILE* stream) : stream_{stream} {
    REQUIRE(far_end_ >= 0);
    REQUIRE(::grantpt(far_end_) == 0);
    REQUIRE(::unlockpt(far_end_) == 0);
    std::array<char, 128> name{};
    REQUIRE(::ptsname_r(far_end_, name.data(), name.size()) == 0);
    const int near_end = ::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(near_end >= 0);
    const winsize size{.ws_row = 24, .ws_col = 72, .ws_xpixel = 0, .ws_ypixel = 0};
    REQUIRE(::ioctl(near_end, TIOCSWINSZ, &size) == 0);
    std::fflush(stream_);
    saved_ = ::dup(::fileno(stream_));
    ::dup2(near_end, ::fileno(stream_));
    ::close(near_end);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    restore();
    ::close(far_end_);
  }

  /// Restores the stream and returns everything that was written to the terminal.
  std::string shown() {
    std::fflush(stream_);
    (void)::fcntl(far_end_, F_SETFL, O_NONBLOCK);
    std::string text;
    std::array<char, 256> buffer{};
    for (ssize_t count = 0; (count = ::read(far_end_, buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(count));
    restore();
    return text;
  }

private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stream_);
    ::dup2(saved_, ::fileno(stream_));
    ::close(saved_);
    saved_ = -1;
  }

  std::FILE* stream_;
  int far_end_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  int saved_ = -1;
};

/// Restores an environment variable at its end.
class Variable {
public:
  Variable(const char* name, const char* value) : name_{name} {
    if (const char* before = std::getenv(name)) before_ = before;
    if (value == nullptr)
      ::unsetenv(name);
    else
      ::setenv(name, value, 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

private:
  const char* name_;
  std::optional<std::string> before_;
};

/// The options for a terminal as stdout, with these values of COLUMNS and NO_COLOR.
viz::TextOptions options_on_terminal(const char* columns, const char* no_color) {
  const Variable width{"COLUMNS", columns};
  const Variable plain{"NO_COLOR", no_color};
  const Terminal terminal{stdout};
  return terminal_options();
}

} // namespace

TEST_CASE("A terminal has its own width and colours, unless COLUMNS and NO_COLOR override them") {
  CHECK(options_on_terminal(nullptr, nullptr).width == 72);
  CHECK(options_on_terminal(nullptr, nullptr).colour);
  CHECK(options_on_terminal("90", nullptr).width == 90);
  CHECK(options_on_terminal("20", nullptr).width == 60);
  CHECK_FALSE(options_on_terminal(nullptr, "1").colour);
  CHECK(options_on_terminal(nullptr, "").colour);
}

TEST_CASE("Progress is shown after a second on one line, which disappears at the end") {
  Terminal terminal{stderr};
  {
    Progress progress{"schedules"};
    ProgressShare share{"read"};
    progress.step(3);
    share.show(0.25);
    std::this_thread::sleep_for(1050ms);
    progress.step(3);
    progress.step(3);
    share.show(0.5);
  }
  using Catch::Matchers::Contains;
  using Catch::Matchers::EndsWith;
  using Catch::Matchers::StartsWith;
  const std::string shown = terminal.shown();
  CHECK_THAT(shown, StartsWith("\r\033[Kppsim: 2 of 3 schedules, 1.")); // one second, and the machine's delay
  CHECK_THAT(shown, Contains(" a second, 1 s left\r\033[Kppsim: 3 of 3 schedules, 2."));
  CHECK_THAT(shown, EndsWith(" a second\r\033[Kppsim: 50 % read\r\033[K\r\033[K"));
}

TEST_CASE("A job of less than a second shows no progress") {
  Terminal terminal{stderr};
  { Progress{"schedules"}.step(3); }
  CHECK(terminal.shown().empty());
}

} // namespace ppsim::test::terminal_test
