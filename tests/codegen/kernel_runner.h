#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/codegen/codegen.h"
#include "src/runtime/guarded_buffer.h"
#include "src/runtime/loader.h"
#include "src/target/cpu.h"

namespace tilewright {

/// Compiler and runner of hand-written programs, with buffers that detect accesses outside of them.
class KernelRunner {
 public:
  /// Compiles a program.
  static Result<KernelRunner> Build(const Program& program, const Target& target) {
    Result<std::string> object = Generate({program}, target, Emit::kObject);
    TW_RETURN_IF_ERROR(object);
    Result<ScopedTempDir> folder = ScopedTempDir::Create("codegen-test");
    TW_RETURN_IF_ERROR(folder);
    const std::string path = folder->path() + "/kernel.so";
    TW_RETURN_IF_ERROR(LinkShared({*object}, {}, path));
    Result<LoadedKernel> kernel = LoadKernel(path, program.name);
    TW_RETURN_IF_ERROR(kernel);
    return KernelRunner(program, std::move(*kernel));
  }

  /// Returns the values of parameter i, initially zero.
  template <typename T>
  T* Data(std::size_t i) const {
    return static_cast<T*>(buffers_[i].data());
  }
  const KernelEntry& entry() const { return kernel_.entry; }

  /// Runs the kernel once. Fails the test if it reports an error or writes outside of its buffers.
  void Run(const TwParallel* parallel = nullptr) {
    const int threads = parallel != nullptr ? parallel->threads : 1;
    Result<GuardedBuffer> workspace = GuardedBuffer::Create(kernel_.entry.WorkspaceBytes(threads));
    ASSERT_TRUE(workspace.ok());
    std::memset(workspace->data(), 0x7f, static_cast<std::size_t>(workspace->size()));
    std::vector<void*> arguments;
    for (const GuardedBuffer& buffer : buffers_) arguments.push_back(buffer.data());
    EXPECT_EQ(kernel_.entry.run(arguments.data(), workspace->data(), parallel), 0);
    for (const GuardedBuffer& buffer : buffers_) {
      EXPECT_TRUE(buffer.CheckRedZone().ok()) << buffer.CheckRedZone().message();
    }
    EXPECT_TRUE(workspace->CheckRedZone().ok());
  }

 private:
  KernelRunner(const Program& program, LoadedKernel kernel) : kernel_(std::move(kernel)) {
    for (const Buffer& parameter : program.parameters) {
      Result<GuardedBuffer> buffer = GuardedBuffer::Create(parameter->bytes());
      TW_CHECK(buffer.ok(), buffer.status().message());
      buffers_.push_back(std::move(*buffer));
    }
  }
  LoadedKernel kernel_;
  std::vector<GuardedBuffer> buffers_;
};

/// Returns a reproducible integer in [-range, range].
inline std::int64_t Seeded(std::uint64_t seed, std::int64_t i, std::int64_t range) {
  const std::uint32_t element = SeededElement(seed, static_cast<std::uint64_t>(i));
  return static_cast<std::int64_t>(element % static_cast<std::uint64_t>(2 * range + 1)) - range;
}

/// Returns the CPU targets that the tests run code for, if this machine supports them.
inline std::vector<std::string> RunnableTargets() {
  std::vector<std::string> targets = {"llvm -mcpu=x86-64"};
  const Result<CpuFeatures> host = FeaturesOf(*Target::Parse("native"));
  if (host.ok() && host->avx2) targets.emplace_back("llvm -mcpu=core-avx2");
  if (host.ok() && host->avx2 && host->avx_vnni) targets.emplace_back("llvm -mcpu=alderlake");
  if (host.ok() && host->avx512) targets.emplace_back("llvm -mcpu=skylake-avx512");
  targets.emplace_back("native");
  return targets;
}

/// Returns a name for a parameterized test.
inline std::string TargetTestName(const std::string& target) {
  std::string name;
  for (char c : target) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

}  // namespace tilewright
