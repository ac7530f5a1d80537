#include "src/codegen/nvptx/ptxas.h"

#include <poll.h>
#include <unistd.h>

#include <array>

#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/process/subprocess.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

/// Reads a descriptor until its other end is closed.
std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 4096> chunk;
  for (;;) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, -1) < 0) return text;
    const ssize_t count = read(fd, chunk.data(), chunk.size());
    if (count <= 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

/// Returns the number before `words`; 0 if they do not occur.
std::int64_t NumberBefore(const std::string& line, const std::string& words) {
  const std::size_t end = line.find(words);
  if (end == std::string::npos) return 0;
  const std::size_t space = line.rfind(' ', end == 0 ? 0 : end - 1);
  const auto number = ParseInt64(line.substr(space + 1, end - space - 1));
  return number.ok() ? *number : 0;
}

}  // namespace

std::vector<KernelResources> ParsePtxasReport(const std::string& text) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::vector<KernelResources> kernels;
  for (const std::string& line : Split(text, '\n')) {
    if (const std::size_t at = line.find(kEntry); at != std::string::npos) {
      const std::size_t begin = at + kEntry.size();
      kernels.emplace_back().kernel = line.substr(begin, line.find('\'', begin) - begin);
    }
    if (kernels.empty()) continue;
    KernelResources& last = kernels.back();
    if (line.find(" bytes stack frame") != std::string::npos) {
      last.stack_bytes = NumberBefore(line, " bytes stack frame");
      last.spill_store_bytes = NumberBefore(line, " bytes spill stores");
      last.spill_load_bytes = NumberBefore(line, " bytes spill loads");
    }
    if (line.find(" registers") == std::string::npos) continue;
    last.registers = static_cast<int>(NumberBefore(line, " registers"));
    last.shared_bytes = NumberBefore(line, " bytes smem");
  }
  return kernels;
}

std::string FindPtxas() {
  for (const char* path : {"/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas", "/usr/bin/ptxas"}) {
    if (FileExists(path)) return path;
  }
  return {};
}

Result<std::vector<KernelResources>> RunPtxas(const std::string& ptxas, const std::string& ptx,
                                              int compute_capability, std::string* cubin) {
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-ptxas"));
  const std::string source = folder.path() + "/kernel.ptx",
                    output = folder.path() + "/kernel.cubin";
  TW_RETURN_IF_ERROR(WriteFile(source, ptx));
  SubprocessOptions options;
  options.command = {ptxas, "-v",   "-arch=sm_" + std::to_string(compute_capability),
                     "-o",  output, source};
  TW_ASSIGN_OR_RETURN(auto process, Subprocess::Start(options));
  process.CloseInput();
  const std::string words = ReadAll(process.error()) + ReadAll(process.output());
  constexpr double kLimitSeconds = 600;  // its output is closed: it is about to exit
  const auto ended = process.Wait(kLimitSeconds);
  if (!ended || ended->signaled) return Unavailable("ptxas did not end by itself");
  if (!ended->ok()) return InvalidArgument("ptxas: " + std::string(Trim(words)));
  if (cubin != nullptr) {
    TW_ASSIGN_OR_RETURN(auto code, ReadFile(output));
    *cubin = std::move(code);
  }
  return ParsePtxasReport(words);
}

}  // namespace tilewright
