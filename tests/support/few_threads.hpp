#pragma once
// A process that the system starts few threads for.

#include <array>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ppsim::test {

/// What `work` says in a child process that gets `threads` threads besides its own and no more. The limit is that of a
/// user, and holds for all but root: root becomes a user with nothing else to do. Nothing where that is not allowed, or
/// where somebody else is asked for more than none, as other processes of theirs count too.
inline std::optional<std::string> output_with_threads(std::size_t threads, const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    constexpr uid_t nobodys = 1'000'000;
    const uid_t user = nobodys + static_cast<uid_t>(::getpid());
    const bool alone = ::geteuid() == 0 && ::setresuid(user, user, user) == 0;
    const rlimit most{alone ? 1 + threads : 0, alone ? 1 + threads : 0};
    std::string said;
    try {
      if ((alone || (::geteuid() != 0 && threads == 0)) && ::setrlimit(RLIMIT_NPROC, &most) == 0) said = work();
    } catch (const std::exception& error) {
      said = std::string{"threw: "} + error.what();
    }
    const bool written = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    said.append(buffer.data(), static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status)); // which is not a pass
  return said.empty() ? std::nullopt : std::optional{said};
}

} // namespace ppsim::test
