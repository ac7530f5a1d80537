#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <chrono>
#include <mutex>
#include <span>
#include <utility>

#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/strings.h"
#include "src/codegen/assemble.h"
#include "src/codegen/codegen.h"

LLD_HAS_DRIVER(elf)

namespace tilewright {
namespace {

/// Directories of the system's C and maths libraries on Debian and on other usual systems.
constexpr const char* kLibraryFolders[] = {"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
                                           "/lib64", "/usr/lib", "/lib"};

/// Functions that kernels, the runtime of compiled models and the compiler's library may call, for
/// targets whose libraries are not installed. Stub libraries define these names: the linker detects
/// any other undefined symbol, and the result refers to no symbol version, so that it also runs
/// with an old C library.
constexpr const char* kLibcSymbols[] = {
    "__sched_cpucount", "abort", "aligned_alloc", "calloc", "clock_gettime", "close", "free",
    "lseek", "madvise", "malloc", "memcmp", "memcpy", "memmove", "memset", "mincore", "mmap",
    "mprotect", "mremap", "munmap", "open", "raise", "read", "sched_getaffinity", "sched_getcpu",
    "sched_setaffinity", "sched_yield", "strstr", "syscall",
    // 32-bit Arm: EABI names of the same functions
    "__aeabi_memclr", "__aeabi_memclr4", "__aeabi_memclr8", "__aeabi_memcpy", "__aeabi_memcpy4",
    "__aeabi_memcpy8", "__aeabi_memmove", "__aeabi_memmove4", "__aeabi_memmove8", "__aeabi_memset",
    "__aeabi_memset4", "__aeabi_memset8"};
constexpr const char* kThreadSymbols[] = {
    "pthread_attr_destroy", "pthread_attr_init",  "pthread_attr_setaffinity_np", "pthread_create",
    "pthread_join",         "pthread_mutex_lock", "pthread_mutex_unlock"};
constexpr const char* kMathSymbols[] = {
    "acos",   "acosh", "asin",  "asinh", "atan",  "atanh", "ceil",  "ceilf",  "cos",
    "cosh",   "erf",   "erff",  "exp",   "expf",  "expm1", "floor", "floorf", "fma",
    "fmaf",   "log",   "log1p", "logf",  "pow",   "powf",  "rint",  "rintf",  "round",
    "roundf", "sin",   "sinh",  "sqrt",  "sqrtf", "tan",   "tanh",  "tanhf"};

/// Properties of an object that affect linking.
struct ObjectFacts {
  bool undefined = false;  // it refers to a symbol that it does not define
  bool foreign = false;    // compiled for another kind of machine
  std::string triple;
};

Result<ObjectFacts> Inspect(const std::string& object) {
  llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> file =
      llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!file) return InvalidArgument("linking: " + llvm::toString(file.takeError()));
  ObjectFacts facts;
  facts.triple = (*file)->makeTriple().str();
  facts.foreign = (*file)->getArch() != llvm::Triple(llvm::sys::getProcessTriple()).getArch();
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    llvm::Expected<std::uint32_t> flags = symbol.getFlags();
    if (!flags) return InvalidArgument("linking: " + llvm::toString(flags.takeError()));
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) == 0) continue;
    // The first entry of every ELF symbol table is undefined and has no name.
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    facts.undefined = facts.undefined || (name && !name->empty());
  }
  return facts;
}

/// Runs the linker. Its state is global, so only one call runs at a time.
Status RunLinker(const std::vector<std::string>& arguments) {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  // Workaround for LLD 19, which does not reset this symbol: a link that does not use it would
  // write to memory freed after an earlier link that did. So every link uses it.
  pointers.insert(pointers.end(), {"-u", "_GLOBAL_OFFSET_TABLE_"});
  std::string output, errors;
  llvm::raw_string_ostream out(output), error_out(errors);
  const bool linked = lld::elf::link(pointers, out, error_out, /*exitEarly=*/false,
                                     /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();
  if (linked) return {};
  return InvalidArgument("linking: " + std::string(Trim(errors)));
}

/// Creates a shared library in `folder` with the given functions and the name of a system library.
Result<std::string> MakeStandIn(const std::string& triple, const std::string& name,
                                std::span<const char* const> symbols, const std::string& folder) {
  std::string ir;
  for (const char* symbol : symbols)
    ir += "define void @" + std::string(symbol) + "() { ret void }\n";
  TW_ASSIGN_OR_RETURN(auto target, Target::Parse("llvm -mtriple=" + triple));
  TW_ASSIGN_OR_RETURN(const std::string object, AssembleIr(ir, target));
  const std::string path = folder + "/" + name;
  TW_RETURN_IF_ERROR(WriteFile(path + ".o", object));
  TW_RETURN_IF_ERROR(RunLinker({"ld.lld", "-shared", "-soname", name, "-o", path, path + ".o"}));
  return path;
}

/// Adds stub libraries of another machine.
Status AddStandIns(const std::string& triple, const std::string& folder,
                   std::vector<std::string>& arguments) {
  // libpthread: separate from the C library before 2.34.
  const std::pair<const char*, std::span<const char* const>> libraries[] = {
      {"libm.so.6", kMathSymbols},
      {"libpthread.so.0", kThreadSymbols},
      {"libc.so.6", kLibcSymbols}};
  for (const auto& [name, symbols] : libraries) {
    TW_ASSIGN_OR_RETURN(std::string path, MakeStandIn(triple, name, symbols, folder));
    arguments.push_back(std::move(path));
  }
  return {};
}

/// Adds the libraries of this machine.
void AddSystemLibraries(std::vector<std::string>& arguments) {
  for (const char* name : {"/libm.so.6", "/libc.so.6"}) {
    for (const char* place : kLibraryFolders) {
      if (!FileExists(std::string(place) + name)) continue;
      arguments.push_back(std::string(place) + name);
      break;
    }
  }
}

}  // namespace

Result<std::string> LinkCodeObject(const std::string& object) {
  TW_ASSIGN_OR_RETURN(LockedTempDir folder, LockedTempDir::Create("tilewright-link"));
  const std::string input = folder.path() + "/kernels.o", output = folder.path() + "/kernels.hsaco";
  TW_RETURN_IF_ERROR(WriteFile(input, object));
  TW_RETURN_IF_ERROR(RunLinker({"ld.lld", "-shared", "--threads=1", "-O0", "--build-id=none",
                                "--no-undefined", "-o", output, input}));
  return ReadFile(output);
}

Status LinkShared(const std::vector<std::string>& objects, const std::vector<std::string>& archives,
                  const std::string& output_path, BuildTimes* times, const std::string& soname) {
  const auto start = std::chrono::steady_clock::now();
  TW_ASSIGN_OR_RETURN(LockedTempDir folder, LockedTempDir::Create("tilewright-link"));
  ScopedTempPath linked =
      ScopedTempPath::NextTo(output_path);  // the linker removes an old file at once
  const std::string name = soname.empty() ? output_path.substr(output_path.rfind('/') + 1) : soname;
  // -Bsymbolic: the library must not call functions of the same names elsewhere in the program.
  // relro, now: no table of addresses stays writable after loading. -soname: a program linked to
  // the library finds it in any directory.
  std::vector<std::string> arguments = {"ld.lld",  "-shared",    "--threads=1",
                                        "-O0",     "-z",         "noexecstack",
                                        "-z",      "relro",      "-z",
                                        "now",     "-Bsymbolic", "--build-id=none",
                                        "-soname", name,         "--no-undefined",
                                        "-o",      linked.path()};
  bool needs_libraries = !archives.empty();
  std::string foreign_triple;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::string path = folder.path() + "/" + std::to_string(i) + ".o";
    TW_RETURN_IF_ERROR(WriteFile(path, objects[i]));
    arguments.push_back(path);
    TW_ASSIGN_OR_RETURN(const ObjectFacts facts, Inspect(objects[i]));
    needs_libraries = needs_libraries || facts.undefined;
    if (facts.foreign) foreign_triple = facts.triple;
  }
  arguments.insert(arguments.end(), archives.begin(), archives.end());
  if (needs_libraries) arguments.emplace_back("--as-needed");
  if (needs_libraries && foreign_triple.empty()) AddSystemLibraries(arguments);
  if (needs_libraries && !foreign_triple.empty()) {
    TW_RETURN_IF_ERROR(AddStandIns(foreign_triple, folder.path(), arguments));
  }
  TW_RETURN_IF_ERROR(RunLinker(arguments));
  TW_RETURN_IF_ERROR(linked.MoveTo(output_path));
  if (times != nullptr) {
    times->link_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return {};
}

}  // namespace tilewright
