#include "records/autotvm/python_set.h"

namespace tilewright::records {

PythonSet::PythonSet(const std::vector<std::int64_t>& values) : PythonSet() {
  for (std::int64_t value : values) Add(value);
}

bool PythonSet::Insert(std::int64_t value) {
  constexpr std::size_t kProbes = 9;
  constexpr int kPerturbShift = 5;
  const std::size_t mask = table_.size() - 1;
  auto perturb = static_cast<std::size_t>(value);
  std::size_t slot = perturb & mask;
  while (true) {
    const std::size_t last = slot + kProbes <= mask ? slot + kProbes : slot;
    for (std::size_t at = slot; at <= last; ++at) {
      if (table_[at] == value) return false;
      if (table_[at] != 0) continue;
      table_[at] = value;
      return true;
    }
    perturb >>= kPerturbShift;
    slot = (slot * 5 + 1 + perturb) & mask;
  }
}

void PythonSet::Resize(std::size_t least) {
  std::size_t size = 8;
  while (size <= least) size *= 2;
  std::vector<std::int64_t> old(size, 0);
  old.swap(table_);
  for (std::int64_t value : old) {
    if (value != 0) Insert(value);
  }
}

void PythonSet::Add(std::int64_t value) {
  if (!Insert(value)) return;
  ++used_;
  if (used_ * 5 >= (table_.size() - 1) * 3) Resize(used_ * 4);
}

void PythonSet::Merge(const PythonSet& other) {
  if (other.used_ == 0) return;
  if ((used_ + other.used_) * 5 >= (table_.size() - 1) * 3) Resize((used_ + other.used_) * 2);
  if (used_ == 0 && table_.size() == other.table_.size()) {
    *this = other;
    return;
  }
  const bool empty = used_ == 0;
  for (std::int64_t value : other.table_) {
    if (value == 0) continue;
    if (empty) {
      used_ += Insert(value) ? 1 : 0;  // the table has a free slot
    } else {
      Add(value);
    }
  }
}

std::vector<std::int64_t> PythonSet::Members() const {
  std::vector<std::int64_t> members;
  for (std::int64_t value : table_) {
    if (value != 0) members.push_back(value);
  }
  return members;
}

PythonSet PythonSet::Union(const PythonSet& a, const PythonSet& b) {
  PythonSet result;
  result.Merge(a);
  result.Merge(b);
  return result;
}

}  // namespace tilewright::records
