#include "src/runtime/loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/files/file_kind.h"

namespace tilewright {
namespace {

/// Returns false if the file ends before.
template <typename T>
bool ReadAt(std::ifstream& file, std::uint64_t offset, T* values, std::size_t count) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(values), static_cast<std::streamsize>(count * sizeof(T)));
  return file.good();
}

struct MachineName {
  int code;  // e_machine
  const char* name;
};
constexpr MachineName kMachines[] = {{EM_X86_64, "x86-64"},
                                     {EM_AARCH64, "64-bit Arm"},
                                     {EM_ARM, "32-bit Arm"},
                                     {EM_386, "32-bit x86"}};
#if defined(__x86_64__)
constexpr int kThisMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kThisMachine = EM_AARCH64;
#elif defined(__arm__)
constexpr int kThisMachine = EM_ARM;
#else
constexpr int kThisMachine = EM_NONE;  // unknown: no check
#endif

std::string NameOf(int machine) {
  for (const MachineName& known : kMachines) {
    if (known.code == machine) return known.name;
  }
  return "machine " + std::to_string(machine);
}

/// Checks the kind of file first: the system's message for a library of another machine is
/// misleading ("no such file").
/// Errors: kInvalidArgument.
Status CheckMachine(const std::string& path) {
  // The first 16 bytes are the same for 32 and 64 bits, type and machine follow in both.
  std::array<unsigned char, EI_NIDENT + 4> head = {};
  std::ifstream file(path, std::ios::binary);
  if (!ReadAt(file, 0, head.data(), head.size()) ||
      std::memcmp(head.data(), ELFMAG, SELFMAG) != 0) {
    return ExplainWrongFile(
        InvalidArgument(path + ": not a shared library; `tilewright compile` makes one of a model"),
        IdentifyFile(path), path, {"a library that `tilewright compile` made"});
  }
  const bool little = head[EI_DATA] == ELFDATA2LSB;
  const int machine = head[EI_NIDENT + (little ? 2 : 3)] | head[EI_NIDENT + (little ? 3 : 2)] << 8;
  if (kThisMachine == EM_NONE || machine == kThisMachine) return {};
  return InvalidArgument(path + ": code for " + NameOf(machine) + ", this machine is " +
                         NameOf(kThisMachine));
}

/// Checks the size: the system's loader maps the segments of the headers and crashes if the file is
/// shorter.
/// Errors: kInvalidArgument if the file is shorter than its headers state.
Status CheckWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(file.tellg(), 0));
  ElfW(Ehdr) header{};
  if (!ReadAt(file, 0, &header, 1) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_phentsize != sizeof(ElfW(Phdr))) {
    return Status();
  }
  const auto cut_off = [&] {
    return InvalidArgument("loading: " + path + " is truncated: it has " + std::to_string(size) +
                           " bytes, fewer than its headers state");
  };
  std::vector<ElfW(Phdr)> segments(header.e_phnum);
  if (!ReadAt(file, header.e_phoff, segments.data(), segments.size())) return cut_off();
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) return cut_off();
  }
  const std::uint64_t sections = std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff > size || sections > size - header.e_shoff) return cut_off();
  return Status();
}

}  // namespace

void SharedLibrary::Close::operator()(void* handle) const { dlclose(handle); }

Status SharedLibrary::Check(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return NotFound("no file " + path);
  // Opening a pipe would block.
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path + ": is not a file, expected a library");
  TW_RETURN_IF_ERROR(CheckMachine(path));
  return CheckWhole(path);
}

Result<SharedLibrary> SharedLibrary::Open(const std::string& path) {
  TW_RETURN_IF_ERROR(Check(path));
  // A name without a slash would be searched for in the system's directories.
  const std::string place = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return InvalidArgument("loading: " + std::string(reason != nullptr ? reason : path.c_str()));
  }
  return SharedLibrary(path, handle);
}

void* SharedLibrary::Symbol(const std::string& name) const {
  return dlsym(handle_.get(), name.c_str());
}

Result<KernelEntry> FindKernel(const SharedLibrary& library, const std::string& name) {
  // POSIX: an object pointer from dlsym converts to a function pointer.
  const auto run = reinterpret_cast<TwKernel>(library.Symbol(name));
  const auto prepare = reinterpret_cast<TwPrepare>(library.Symbol(name + "_prepare"));
  const auto* info = static_cast<const TwKernelInfo*>(library.Symbol(name + "_info"));
  if (run == nullptr || info == nullptr) {
    return NotFound(library.path() + ": no kernel " + name);
  }
  const std::string where = library.path() + ": kernel " + name + ": ";
  if (info->abi_version != TW_ABI_VERSION) {
    return Unsupported(where + "interface version " + std::to_string(info->abi_version) +
                       ", expected " + std::to_string(TW_ABI_VERSION));
  }
  if (info->workspace_bytes < 0 || info->workspace_bytes_per_thread < 0) {
    return Corrupt(where + "negative workspace size");
  }
  return KernelEntry{run, prepare, *info};
}

Result<LoadedKernel> LoadKernel(const std::string& path, const std::string& name) {
  TW_ASSIGN_OR_RETURN(SharedLibrary library, SharedLibrary::Open(path));
  TW_ASSIGN_OR_RETURN(const KernelEntry entry, FindKernel(library, name));
  return LoadedKernel{std::move(library), entry};
}

}  // namespace tilewright
