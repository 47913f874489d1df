// Runs a transcript and compares: transcript PPSIM SOURCE_DIR FILE. With PPSIM_UPDATE_GOLDEN set, a file that differs
// is rewritten and the run fails this once, so that a change is always seen.
//
//     # What the paragraph directly above a command says, in lines that start with '#', is a comment.
//     $ ppsim --stages 0 --mb 8 |
//         head -3
//     ppsim: error: ...
//     [exit 2]
//
// A command begins with "$ " and goes on in indented lines while a line ends in '|' or '\'. Below it stands what it
// prints, stdout and stderr as they come, and "[exit N]" unless N is 0. In a Markdown file this holds inside ```console
// blocks; in any other file everywhere below the first command. Commands are run by sh in one temporary folder per file
// that holds `ppsim`, `docs` and `traces`, with a clean environment and a terminal 100 columns wide.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/wait.h>

namespace fs = std::filesystem;

namespace {

using Lines = std::vector<std::string>;

/// One command of a transcript, with its expected output.
struct Step {
  std::size_t line = 0; ///< of the command, from 0
  std::size_t end = 0;  ///< first line after its output
  std::string command;
  Lines output;
};

Lines split(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string join(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

void drop_blank_end(Lines& lines) {
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
}

/// The end of a step's output, without the blank lines and the comment before the next command.
std::size_t output_end(const Lines& lines, std::size_t begin, std::size_t end, bool comments) {
  std::size_t comment = end;
  while (comments && comment > begin && lines[comment - 1].starts_with('#')) --comment;
  if (comment == begin || lines[comment - 1].empty()) end = comment;
  while (end > begin && lines[end - 1].empty()) --end;
  return end;
}

std::vector<Step> parse(const Lines& lines, bool markdown) {
  std::vector<Step> steps;
  bool inside = !markdown;
  for (std::size_t i = 0; i < lines.size();) {
    if (markdown && lines[i].starts_with("```")) inside = lines[i] == "```console";
    if (!inside || !lines[i].starts_with("$ ")) {
      ++i;
      continue;
    }
    Step step{.line = i, .end = i, .command = lines[i].substr(2), .output = {}};
    while ((step.command.ends_with('|') || step.command.ends_with('\\')) && ++i < lines.size())
      step.command += '\n' + lines[i];
    const std::size_t begin = ++i;
    while (i < lines.size() && !lines[i].starts_with("$ ") && !(markdown && lines[i].starts_with("```"))) ++i;
    step.end = output_end(lines, begin, i, i < lines.size() && lines[i].starts_with("$ "));
    step.output.assign(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                       lines.begin() + static_cast<std::ptrdiff_t>(step.end));
    steps.push_back(std::move(step));
  }
  return steps;
}

/// The output of a command, and "[exit N]" if it does not end with 0.
Lines run(const std::string& command) {
  std::FILE* pipe = ::popen(("exec 2>&1 </dev/null\n" + command).c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error{"cannot start sh"};
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), count);
  const int status = ::pclose(pipe);
  Lines lines = split(text);
  drop_blank_end(lines);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code != 0) lines.push_back("[exit " + std::to_string(code) + "]");
  return lines;
}

/// A temporary working directory with the program and the samples; removed at the end.
class WorkFolder {
public:
  WorkFolder(const fs::path& program, const fs::path& source_dir) {
    std::string name = (fs::temp_directory_path() / "ppsim-transcript-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"cannot make " + name};
    folder_ = name;
    fs::create_symlink(program, folder_ / "ppsim");
    for (const char* linked : {"docs", "traces"}) fs::create_directory_symlink(source_dir / linked, folder_ / linked);
    fs::current_path(folder_);
    const char* inherited = std::getenv("PATH");
    const std::string path = folder_.string() + ':' + (inherited == nullptr ? "/usr/bin:/bin" : inherited);
    ::clearenv();
    ::setenv("PATH", path.c_str(), 1);
    ::setenv("HOME", folder_.c_str(), 1);
    ::setenv("LC_ALL", "C.UTF-8", 1);
    ::setenv("TERM", "dumb", 1);
    ::setenv("COLUMNS", "100", 1);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    fs::current_path("/", ignored);
    fs::remove_all(folder_, ignored);
  }

private:
  fs::path folder_;
};

void print_difference(const std::string& file, const Step& step, const Lines& actual) {
  const auto at = std::ranges::mismatch(step.output, actual).in1 - step.output.begin();
  std::cout << file << ':' << step.line + 1 << ": $ " << step.command << "\n--- expected, differs from its line "
            << at + 1 << " on\n"
            << join(step.output) << "--- actual\n"
            << join(actual);
}

int run_transcript(const fs::path& program, const fs::path& source_dir, const fs::path& file) {
  std::ifstream stream{file, std::ios::binary};
  if (!stream) throw std::runtime_error{"cannot read " + file.string()};
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  const bool markdown = file.extension() == ".md";
  Lines lines = split(text);
  const std::vector<Step> steps = parse(lines, markdown);
  if (steps.empty() && !markdown) throw std::runtime_error{"no command in " + file.string()};

  const bool update = std::getenv("PPSIM_UPDATE_GOLDEN") != nullptr;
  std::vector<std::pair<const Step*, Lines>> differing;
  {
    const WorkFolder workplace{program, source_dir};
    for (const Step& step : steps) {
      Lines actual = run(step.command);
      if (actual != step.output) differing.emplace_back(&step, std::move(actual));
    }
  }
  for (const auto& [step, actual] : differing) print_difference(file.filename().string(), *step, actual);
  if (differing.empty()) return 0;

  if (update) {
    std::ranges::reverse(differing);
    for (auto& [step, actual] : differing) {
      const auto end = lines.begin() + static_cast<std::ptrdiff_t>(step->end);
      if (end != lines.end() && end->starts_with('#')) actual.emplace_back(); // separates the next comment
      lines.insert(lines.erase(end - std::ssize(step->output), end), actual.begin(), actual.end());
    }
    std::ofstream{file, std::ios::binary} << join(lines);
    std::cout << "updated " << file.string() << "; look at the diff, then run again\n";
  } else {
    std::cout << "to accept: PPSIM_UPDATE_GOLDEN=1 ./test -L cli, then git diff\n";
  }
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw std::runtime_error{"usage: transcript PPSIM SOURCE_DIR FILE"};
    return run_transcript(fs::absolute(argv[1]), fs::absolute(argv[2]), fs::absolute(argv[3]));
  } catch (const std::exception& error) {
    std::cerr << "transcript: " << error.what() << '\n';
    return 1;
  }
}
