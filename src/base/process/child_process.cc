#include "src/base/process/child_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "src/base/files/file.h"

namespace tilewright {

Result<Pipe> OpenPipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Unavailable("no pipe can be made: " + ErrnoReason());
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<char*> ArgumentPointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<char*> EnvironmentWith(std::vector<std::string>& own) {
  std::vector<char*> all;
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    const std::string_view variable = *inherited;
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    const bool replaced = std::any_of(
        own.begin(), own.end(), [name](const std::string& text) { return text.starts_with(name); });
    if (!replaced) all.push_back(*inherited);
  }
  for (std::string& text : own) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

cpu_set_t CoreSet(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) {
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(core), &set);
  }
  return set;
}

}  // namespace tilewright
