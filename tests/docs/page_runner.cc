// Runs the blocks of a page in a folder of its own, and compares their outputs.

#include "tests/docs/page_runner.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "tests/docs/output_match.h"

namespace tilewright::docs {
namespace {

namespace fs = std::filesystem;

const std::string kSource = TILEWRIGHT_SOURCE_DIR;

std::string PlaceOf(const Page& page, int line) { return page.path + ":" + std::to_string(line); }

/// Returns true if /proc/cpuinfo lists a feature of this CPU.
bool HasCpuFeature(const std::string& name) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("flags")) return (line + " ").find(" " + name + " ") != std::string::npos;
  }
  return false;
}

bool IsInstalled(const std::string& program) {
  constexpr std::string_view kCpu = "cpu-";
  if (program.starts_with(kCpu)) return HasCpuFeature(program.substr(kCpu.size()));
  for (const std::string& folder : Split(std::string(std::getenv("PATH")), ':')) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return access(("/usr/sbin/" + program).c_str(), X_OK) == 0;
}

/// Reason for which a block is not run; empty if it is run.
std::string ReasonToLeaveOut(const Block& block, bool all) {
  if (!block.skip.empty()) return "needs: " + block.skip;
  if (block.slow && !all) return "takes long: scripts/docs.sh --all runs it";
  if (!block.needs.empty() && !IsInstalled(block.needs)) return "needs: " + block.needs;
  return "";
}

bool HasCommands(const Block& block) {
  return block.language == "console" || block.language == "setup";
}

/// New folder that is deleted at the end.
class WorkFolder {
 public:
  WorkFolder() {
    std::string name = (fs::temp_directory_path() / "tilewright-docs-XXXXXX").string();
    path_ = mkdtemp(name.data()) == nullptr ? "" : name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct NumberedCommand {
  Command command;
  bool vary, last;
  int exit_code;
};

/// Shell script that runs command files `cmd.N` in one shell, with their output, exit codes and
/// times in files.
std::string MakeScript(std::size_t count) {
  return "for n in $(seq 0 " + std::to_string(count - 1) +
         "); do\n"
         "  begin=$EPOCHREALTIME\n"
         "  source \"$RUN/cmd.$n\" >\"$RUN/out.$n\" 2>\"$RUN/err.$n\" </dev/null\n"
         "  echo $? >\"$RUN/rc.$n\"\n"
         "  echo \"$begin $EPOCHREALTIME\" >\"$RUN/time.$n\"\n"
         "done\n";
}

/// Runs the script in a process group of its own and ends the whole group afterwards.
void RunScript(const std::string& work, const std::string& run) {
  const std::string home = work + "/home";
  fs::create_directories(home);
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    if (chdir(work.c_str()) != 0) _exit(126);
    for (const char* name : {"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "NO_COLOR"}) {
      unsetenv(name);
    }
    const std::string path =
        std::string(TILEWRIGHT_PROGRAM_DIRS) + ":" + std::getenv("PATH") + ":/usr/sbin";
    setenv("PATH", path.c_str(), 1);
    setenv("HOME", home.c_str(), 1);
    setenv("RUN", run.c_str(), 1);
    setenv("BUILD", TILEWRIGHT_BUILD_DIR, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    execl("/bin/bash", "bash", "--norc", (run + "/script").c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  kill(-child, SIGKILL);
}

std::vector<std::string> LinesOf(const std::string& file) {
  const auto text = ReadFile(file);
  if (!text.ok()) return {};
  return Split(*text, '\n');
}

std::vector<std::string> Joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string Shortened(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "    " + line + "\n";
  return text.substr(0, 6000);
}

/// Compares the results of one command with the page.
void CheckCommand(const Page& page, const NumberedCommand& numbered, const std::string& run,
                  std::size_t n, PageResult& result) {
  const auto file = [&](const char* kind) { return run + "/" + kind + "." + std::to_string(n); };
  const std::string place = PlaceOf(page, numbered.command.line) + ": " + numbered.command.text;
  const auto code = ReadFile(file("rc"));
  const auto out = LinesOf(file("out"));
  const auto err = LinesOf(file("err"));
  if (!code.ok()) {
    result.failures.push_back(place + ": not reached");
    return;
  }
  const int expected_code = numbered.last ? numbered.exit_code : 0;
  if (expected_code != kAnyExitCode && std::atoi(code->c_str()) != expected_code) {
    result.failures.push_back(place + ": exit code " + std::string(Trim(*code)) + "\n" +
                              Shortened(Joined(out, err)));
    return;
  }
  const auto times = LinesOf(file("time"));
  const auto moments = times.empty() ? std::vector<std::string>{} : Split(times[0], ' ');
  if (moments.size() == 2) {
    const double seconds = std::atof(moments[1].c_str()) - std::atof(moments[0].c_str());
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f s ", seconds);
    if (seconds >= 1) result.slow.push_back(text + place);
  }
  const auto& expected = numbered.command.output;
  if (std::ranges::all_of(expected, [](const std::string& line) { return Trim(line).empty(); })) {
    return;
  }
  for (const auto& actual : {out, Joined(err, out), Joined(out, err)}) {
    if (OutputMatches(expected, actual, numbered.vary)) return;
  }
  result.failures.push_back(place + ": other output:\n" + Shortened(out) +
                            "  on standard error:\n" + Shortened(err));
}

void MakeVisible(const std::string& work) {
  for (const char* folder : {"docs", "include", "configs", "bench", "cmake", "scripts", "src"}) {
    fs::create_symlink(kSource + "/" + folder, work + "/" + folder);
  }
}

}  // namespace

std::vector<LeftOut> LeftOutBlocks(const Page& page, bool all) {
  std::vector<LeftOut> left_out;
  for (const Block& block : page.blocks) {
    const std::string reason = ReasonToLeaveOut(block, all);
    if (!reason.empty()) left_out.push_back({PlaceOf(page, block.line), reason});
  }
  return left_out;
}

PageResult RunPage(const Page& page, bool all) {
  PageResult result;
  result.left_out = LeftOutBlocks(page, all);
  const WorkFolder folder, run_folder;
  const std::string& work = folder.path();
  const std::string& run = run_folder.path();
  MakeVisible(work);
  std::vector<NumberedCommand> commands;
  for (const Block& block : page.blocks) {
    std::string text;
    for (const std::string& line : block.lines) text += line + "\n";
    if (!block.file.empty()) {
      fs::create_directories(fs::path(work + "/" + block.file).parent_path());
      if (!WriteFile(work + "/" + block.file, text).ok()) {
        result.failures.push_back(PlaceOf(page, block.line) + ": cannot write " + block.file);
      }
    }
    if (!HasCommands(block) || !ReasonToLeaveOut(block, all).empty()) continue;
    const auto found = CommandsOf(block);
    for (const Command& command : found) {
      commands.push_back({command, block.vary, &command == &found.back(), block.exit_code});
    }
  }
  if (commands.empty()) return result;
  for (std::size_t n = 0; n < commands.size(); ++n) {
    const auto status =
        WriteFile(run + "/cmd." + std::to_string(n), commands[n].command.text + "\n");
    if (!status.ok()) result.failures.push_back(status.message());
  }
  if (!WriteFile(run + "/script", MakeScript(commands.size())).ok()) return result;
  RunScript(work, run);
  for (std::size_t n = 0; n < commands.size(); ++n) CheckCommand(page, commands[n], run, n, result);
  return result;
}

}  // namespace tilewright::docs
