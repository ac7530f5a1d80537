#include "measure/worker/fault_hooks.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

namespace tilewright::measure {
namespace {

constexpr int kDescriptors = 64;  // more than a worker ever has

void UseUpMemory() {
  constexpr std::size_t kBlock = std::size_t{64} << 20;
  while (true) {
    auto* block = static_cast<char*>(std::malloc(kBlock));
    // What LLVM does when an allocation fails.
    if (block == nullptr) {
      constexpr std::string_view kWords = "LLVM ERROR: out of memory\n";
      (void)!::write(STDERR_FILENO, kWords.data(), kWords.size());
      std::abort();
    }
    std::memset(block, 1, 4096);
  }
}

/// Throws std::bad_alloc.
void AllocateTooMuch() {
  const volatile std::size_t too_much = std::size_t{1} << (8 * sizeof(std::size_t) - 1);
  ::operator delete(::operator new(too_much));
}

}  // namespace

void InjectBuilderFault(const std::string& name, int output_fd) {
  if (name.empty()) return;
  if (name == "crash") {
    ::signal(SIGSEGV, SIG_DFL);  // the linker's own handler returns to the place, once
    ::raise(SIGSEGV);
  }
  if (name == "abort") std::abort();
  if (name == "hang") {
    while (true) ::pause();
  }
  if (name == "memory") UseUpMemory();
  if (name == "allocate") AllocateTooMuch();
  if (name == "exit") ::_exit(3);
  if (name == "kill") ::kill(::getpid(), SIGKILL);
  if (name == "close") ::close(output_fd);
  if (name == "garbage") {
    constexpr std::string_view kGarbage = "\x01\x02 no message\n";
    (void)!::write(output_fd, kGarbage.data(), kGarbage.size());
  }
}

void InjectRunnerFault(const std::string& name) {
  if (name.empty()) return;
  if (name == "kill_runner") ::kill(::getppid(), SIGKILL);
  if (name == "allocate") AllocateTooMuch();
  constexpr std::string_view kGarbage = "{\"type\":\"ran\",\"ticket\":1}\n\xff\n";
  for (int fd = 3; fd < kDescriptors; ++fd) {
    if (name == "garbage") (void)!::write(fd, kGarbage.data(), kGarbage.size());
    if (name == "close") ::close(fd);
  }
}

}  // namespace tilewright::measure
