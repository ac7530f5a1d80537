// A register tile is straight-line code that adds products x[i] * y[j] to accumulators that are
// live across the enclosing loop. With A accumulators and R registers, R - A are left for operands.
// LLVM's scheduler does not take this into account, and its register allocator then spills
// accumulators, which adds a store-buffer round trip to every step of the sum.
//
// Here the multiply-adds are split into levels (the n-th addition to each accumulator). Within a
// level one class of operands is the outer loop, and each of its values is in one register briefly.
// Of the other class, as many values as fit stay in registers, and the rest are memory operands of
// the multiply-adds, read once per use. An empty assembly statement that may touch memory separates
// two reads of one address; otherwise instruction selection would merge them.
//
// Windows that move over rows of data use each row in several levels (a row of data is the first of
// one sum, the second of the sum above it, ...). If that saves reads, the values of one class are
// iterated over once instead, each with all additions that use it.

#include "src/codegen/llvm/tile_scheduler.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tilewright::emit {
namespace {

// Smaller pieces do not fill the registers.
constexpr std::size_t kMinMultiplyAdds = 6;

struct MultiplyAdd {
  llvm::Instruction* sum;
  llvm::Value* acc;
  llvm::Value* x;  // the broadcast or shuffled operand, if any
  llvm::Value* y;
  // Instructions before the sum, if it is only an addition: a product of words, or of bytes and
  // then of words.
  std::vector<llvm::Instruction*> product = {};
};

/// Returns the value without casts to elements of another size.
llvm::Value* BitsOf(llvm::Value* value) {
  auto* cast = llvm::dyn_cast<llvm::BitCastInst>(value);
  return cast == nullptr ? value : cast->getOperand(0);
}

bool IsBroadcast(llvm::Value* value) {
  const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(BitsOf(value));
  return shuffle != nullptr && shuffle->isZeroEltSplat();
}

/// Returns the load whose lanes a shuffle reorders; null for other values.
llvm::LoadInst* ShuffledLoad(llvm::Value* value) {
  auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(BitsOf(value));
  if (shuffle == nullptr || !llvm::isa<llvm::UndefValue>(shuffle->getOperand(1))) return nullptr;
  return llvm::dyn_cast<llvm::LoadInst>(shuffle->getOperand(0));
}

/// Returns true for a load of some lanes, with zeros in the others.
bool IsMaskedLoad(const llvm::Value* value) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_load;
}

/// Returns the load of which a value is the first lanes; null for other values.
llvm::Instruction* NarrowedLoad(const llvm::Value* value) {
  const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(value);
  if (shuffle == nullptr || !IsMaskedLoad(shuffle->getOperand(0))) return nullptr;
  for (int i = 0; const int lane : shuffle->getShuffleMask()) {
    if (lane != i++) return nullptr;
  }
  return llvm::cast<llvm::Instruction>(shuffle->getOperand(0));
}

/// Returns true for taps that a shuffle has combined (emit_taps.cc). The emission order uses them
/// in several levels while they are in registers.
bool IsShuffledBytes(llvm::Value* value) {
  const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(BitsOf(value));
  return shuffle != nullptr && shuffle->getType()->getScalarType()->isIntegerTy(8);
}

/// Returns an intrinsic of some width with a single user in its block; else null.
llvm::IntrinsicInst* OwnProduct(llvm::Value* value, const llvm::BasicBlock* block,
                                std::initializer_list<llvm::Intrinsic::ID> widths) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  const bool own = call != nullptr && call->getParent() == block && call->hasOneUse();
  return own && std::ranges::count(widths, call->getIntrinsicID()) > 0 ? call : nullptr;
}

/// Matches sum = acc + product of 16-bit words, which may be the sums of products of bytes. LLVM
/// would compute the products of a whole tile before it adds one.
bool AsAdditionOfProduct(llvm::Instruction& sum, MultiplyAdd& result) {
  if (sum.getOpcode() != llvm::Instruction::Add || !sum.getType()->isVectorTy()) return false;
  for (unsigned side : {1U, 0U}) {
    llvm::IntrinsicInst* words =
        OwnProduct(sum.getOperand(side), sum.getParent(),
                   {llvm::Intrinsic::x86_sse2_pmadd_wd, llvm::Intrinsic::x86_avx2_pmadd_wd,
                    llvm::Intrinsic::x86_avx512_pmaddw_d_512});
    if (words == nullptr) continue;
    result = {&sum, sum.getOperand(1 - side), words->getArgOperand(0), words->getArgOperand(1)};
    if (llvm::isa<llvm::Constant>(result.y)) {
      llvm::IntrinsicInst* bytes = OwnProduct(
          result.x, sum.getParent(),
          {llvm::Intrinsic::x86_ssse3_pmadd_ub_sw_128, llvm::Intrinsic::x86_avx2_pmadd_ub_sw,
           llvm::Intrinsic::x86_avx512_pmaddubs_w_512});
      if (bytes == nullptr) return false;
      result.x = bytes->getArgOperand(0);
      result.y = bytes->getArgOperand(1);
      result.product = {bytes};
    }
    result.product.push_back(words);
    return true;
  }
  return false;
}

bool AsMultiplyAdd(llvm::Instruction& instruction, MultiplyAdd& result) {
  if (AsAdditionOfProduct(instruction, result)) {
    if (IsBroadcast(result.y)) std::swap(result.x, result.y);
    return IsBroadcast(result.x) && llvm::isa<llvm::LoadInst>(BitsOf(result.y));
  }
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr || !call->getType()->isVectorTy()) return false;
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
      result = {call, call->getArgOperand(2), call->getArgOperand(0), call->getArgOperand(1)};
      break;
    case llvm::Intrinsic::x86_avx512_vpdpbusd_128:
    case llvm::Intrinsic::x86_avx512_vpdpbusd_256:
    case llvm::Intrinsic::x86_avx512_vpdpbusd_512:
    case llvm::Intrinsic::x86_avx512_vpdpwssd_128:
    case llvm::Intrinsic::x86_avx512_vpdpwssd_256:
    case llvm::Intrinsic::x86_avx512_vpdpwssd_512:
      result = {call, call->getArgOperand(0), call->getArgOperand(1), call->getArgOperand(2)};
      break;
    default:
      return false;
  }
  if (IsBroadcast(result.y) || ShuffledLoad(result.y) != nullptr) std::swap(result.x, result.y);
  return true;
}

/// Straight-line piece of a block without writes to memory.
class Tile {
 public:
  Tile(llvm::BasicBlock& block, const TileRegisters& target) : block_(block), target_(target) {}

  void Schedule() {
    Collect();
    if (members_.size() < kMinMultiplyAdds || !CanMove()) return;
    std::unordered_set<llvm::Value*> operands;
    for (const MultiplyAdd& member : members_) {
      if (IsShuffledBytes(member.x) || IsShuffledBytes(member.y)) return;
      operands.insert(member.x);
      operands.insert(member.y);
    }
    if (accumulators_ + operands.size() < static_cast<std::size_t>(target_.registers)) return;
    if (const std::optional<Plan> across = PlanAcross()) {
      ScheduleAcross(*across);
    } else {
      for (auto& [level, members] : levels_) ScheduleLevel(members);
    }
    RemoveDead();
  }

 private:
  using Level = std::vector<MultiplyAdd>;

  void Collect() {
    std::unordered_map<llvm::Value*, int> level_of;
    for (llvm::Instruction& instruction : block_) {
      end_ = &instruction;
      if (instruction.isTerminator()) break;
      const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      const bool hint =
          intrinsic != nullptr && intrinsic->getIntrinsicID() == llvm::Intrinsic::prefetch;
      if (instruction.mayWriteToMemory() && !hint) break;
      MultiplyAdd member{};
      if (!AsMultiplyAdd(instruction, member)) continue;
      const auto before = level_of.find(member.acc);
      const int level = before == level_of.end() ? 0 : before->second + 1;
      level_of[member.sum] = level;
      if (level == 0) ++accumulators_;
      members_.push_back(member);
      sums_.insert(member.sum);
      levels_[level].push_back(member);
    }
  }

  /// A multiply-add moves to the end of the piece: all its users there must move too or follow.
  bool CanMove() const {
    for (const MultiplyAdd& member : members_) {
      if (sums_.contains(member.x) || sums_.contains(member.y)) return false;
      for (const llvm::User* user : member.sum->users()) {
        const auto* instruction = llvm::cast<llvm::Instruction>(user);
        if (instruction->getParent() != &block_ || llvm::isa<llvm::PHINode>(instruction)) continue;
        if (sums_.contains(instruction)) continue;
        if (instruction != end_ && instruction->comesBefore(end_)) return false;
      }
    }
    return true;
  }

  /// Returns true for a load of this piece, or a broadcast or a shuffle of one: it can be repeated
  /// anywhere in the piece.
  bool IsRead(llvm::Value* value) const {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr || instruction->getParent() != &block_) return false;
    if (llvm::isa<llvm::BitCastInst>(instruction)) return IsRead(BitsOf(instruction));
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) return load->isSimple();
    if (IsMaskedLoad(instruction)) return true;
    if (const llvm::Instruction* load = NarrowedLoad(instruction)) {
      return load->getParent() == &block_;
    }
    if (const llvm::LoadInst* load = ShuffledLoad(instruction)) {
      return load->isSimple() && load->getParent() == &block_;
    }
    if (!IsBroadcast(instruction)) return false;
    auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(instruction->getOperand(0));
    if (insert == nullptr) return false;
    auto* load = llvm::dyn_cast<llvm::LoadInst>(insert->getOperand(1));
    return load != nullptr && load->isSimple() && load->getParent() == &block_;
  }

  /// Repeats the read of the value at the end of the piece.
  llvm::Value* Read(llvm::Value* value) {
    if (!IsRead(value)) return value;
    auto* instruction = llvm::cast<llvm::Instruction>(value);
    dead_.push_back(instruction);
    read_before_.insert(value);
    return CopyOf(instruction);
  }

  /// Returns the operand index of the load in an instruction of a read: an inserted element, or all
  /// lanes.
  static unsigned Source(const llvm::Instruction* instruction) {
    return llvm::isa<llvm::InsertElementInst>(instruction) ? 1 : 0;
  }

  /// Copies a load and the instructions derived from it to the end of the piece.
  llvm::Instruction* CopyOf(llvm::Instruction* instruction) {
    llvm::Instruction* copy = instruction->clone();
    if (!llvm::isa<llvm::LoadInst>(instruction) && !IsMaskedLoad(instruction)) {
      const unsigned source = Source(instruction);
      copy->setOperand(source,
                       CopyOf(llvm::cast<llvm::Instruction>(instruction->getOperand(source))));
    }
    copy->insertBefore(end_);
    return copy;
  }

  void ForgetMemory() {
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(block_.getContext()), false);
    llvm::InlineAsm* nothing = llvm::InlineAsm::get(type, "", "~{memory}", /*hasSideEffects=*/true);
    llvm::CallInst* call = llvm::CallInst::Create(type, nothing, "", end_);
    call->setDoesNotThrow();
    read_before_.clear();
  }

  struct Plan {
    bool outer_is_x = true;
    std::size_t held = 0;  // inner values that stay in registers
    std::size_t reads = 0;
  };

  Plan MakePlan(bool outer_is_x, std::size_t outer, std::size_t inner) const {
    // A product needs a register before it is added, and sums of pairs need a factor of ones.
    const std::size_t apart = members_.front().product.size();
    const std::size_t taken = accumulators_ + std::max<std::size_t>(target_.fused ? 0 : 1, apart);
    const auto registers = static_cast<std::size_t>(target_.registers);
    // One register for the outer value; a broadcast that cannot be folded also passes through a
    // register.
    const std::size_t passing = outer_is_x || target_.folds_broadcast ? 1 : 2;
    const std::size_t left = registers > taken + passing ? registers - taken - passing : 0;
    Plan plan;
    plan.outer_is_x = outer_is_x;
    plan.held = outer == 1 ? 0 : std::min(inner, left);
    if (passing == 2 && inner == left + 1) plan.held = outer == 1 ? 0 : inner;
    plan.reads = outer + plan.held + (inner - plan.held) * outer;
    return plan;
  }

  struct Operands {
    std::vector<llvm::Value*> x, y;  // each once, in order of occurrence
  };

  static Operands OperandsOf(const Level& members) {
    Operands operands;
    std::unordered_set<llvm::Value*> known_x, known_y;
    for (const MultiplyAdd& member : members) {
      if (known_x.insert(member.x).second) operands.x.push_back(member.x);
      if (known_y.insert(member.y).second) operands.y.push_back(member.y);
    }
    return operands;
  }

  Plan PlanLevel(const Operands& operands) const {
    const Plan by_x = MakePlan(true, operands.x.size(), operands.y.size());
    const Plan by_y = MakePlan(false, operands.y.size(), operands.x.size());
    return by_y.reads < by_x.reads ? by_y : by_x;
  }

  /// Returns a plan that reads each value of one class once, with all values of the other in
  /// registers; none if these do not fit, or no reads are saved.
  std::optional<Plan> PlanAcross() const {
    if (levels_.size() < 2) return std::nullopt;
    std::size_t reads = 0;
    for (const auto& [level, members] : levels_) reads += PlanLevel(OperandsOf(members)).reads;
    const Operands all = OperandsOf(members_);
    std::optional<Plan> best;
    for (const bool outer_is_x : {false, true}) {
      const std::size_t outer = outer_is_x ? all.x.size() : all.y.size();
      const std::size_t inner = outer_is_x ? all.y.size() : all.x.size();
      const std::size_t taken = accumulators_ + inner + (target_.fused ? 1 : 2);
      const std::size_t once = outer + inner;
      if (taken > static_cast<std::size_t>(target_.registers) || 4 * once > 3 * reads) continue;
      if (best && best->reads <= once) continue;
      best = Plan{outer_is_x, inner, once};
    }
    return best;
  }

  struct Copied {
    llvm::Value* value;
    llvm::Value* copy;
  };

  /// Appends a multiply-add of copies of its operands at the end of the piece.
  void Append(const MultiplyAdd& member, const Copied& outer, const Copied& inner) {
    llvm::Instruction* first = member.product.empty() ? member.sum : member.product.front();
    first->replaceUsesOfWith(outer.value, outer.copy);
    first->replaceUsesOfWith(inner.value, inner.copy);
    for (llvm::Instruction* step : member.product) step->moveBefore(end_);
    member.sum->moveBefore(end_);
  }

  void ScheduleAcross(const Plan& plan) {
    struct Users {
      llvm::Value* value;
      std::vector<const MultiplyAdd*> left;  // not moved yet
    };
    std::vector<Users> outer;
    std::unordered_map<llvm::Value*, std::size_t> place;
    for (const MultiplyAdd& member : members_) {
      llvm::Value* value = plan.outer_is_x ? member.x : member.y;
      const auto [found, added] = place.emplace(value, outer.size());
      if (added) outer.push_back({value, {}});
      outer[found->second].left.push_back(&member);
    }
    std::unordered_set<const llvm::Value*> moved;
    const auto due = [&](const MultiplyAdd* member) {
      return !sums_.contains(member->acc) || moved.contains(member->acc);
    };
    std::unordered_map<llvm::Value*, llvm::Value*> held;
    while (!outer.empty()) {
      // The first value without later uses; the order of the sums stays the same.
      auto next = std::ranges::find_if(
          outer, [&](const Users& users) { return std::ranges::all_of(users.left, due); });
      if (next == outer.end()) {
        next = std::ranges::find_if(
            outer, [&](const Users& users) { return std::ranges::any_of(users.left, due); });
      }
      if (!read_before_.empty()) ForgetMemory();
      llvm::Value* outer_copy = Read(next->value);
      std::vector<const MultiplyAdd*> later;
      for (const MultiplyAdd* member : next->left) {
        if (!due(member)) {
          later.push_back(member);
          continue;
        }
        llvm::Value* other = plan.outer_is_x ? member->y : member->x;
        const auto [kept, added] = held.emplace(other, nullptr);
        if (added) kept->second = Read(other);
        Append(*member, {next->value, outer_copy}, {other, kept->second});
        moved.insert(member->sum);
      }
      next->left = std::move(later);
      if (next->left.empty()) outer.erase(next);
    }
  }

  void ScheduleLevel(const Level& members) {
    const Operands operands = OperandsOf(members);
    const Plan plan = PlanLevel(operands);
    const std::vector<llvm::Value*>& outer = plan.outer_is_x ? operands.x : operands.y;
    const std::vector<llvm::Value*>& inner = plan.outer_is_x ? operands.y : operands.x;
    std::unordered_map<llvm::Value*, llvm::Value*> held;
    for (std::size_t i = 0; i < plan.held; ++i) held[inner[i]] = nullptr;
    // Keeps the reads of this level from moving up among those of the previous one.
    if (!read_before_.empty()) ForgetMemory();
    for (llvm::Value* value : outer) {
      if (read_before_.contains(value)) ForgetMemory();
      llvm::Value* outer_copy = Read(value);
      for (const MultiplyAdd& member : members) {
        if ((plan.outer_is_x ? member.x : member.y) != value) continue;
        llvm::Value* other = plan.outer_is_x ? member.y : member.x;
        llvm::Value* inner_copy = nullptr;
        if (const auto kept = held.find(other); kept != held.end()) {
          if (kept->second == nullptr) kept->second = Read(other);
          inner_copy = kept->second;
        } else {
          if (read_before_.contains(other)) ForgetMemory();
          inner_copy = Read(other);
        }
        Append(member, {value, outer_copy}, {other, inner_copy});
      }
    }
  }

  void RemoveDead() {
    std::unordered_set<llvm::Instruction*> gone;
    for (llvm::Instruction* instruction : dead_) {
      while (instruction != nullptr && !gone.contains(instruction) && instruction->use_empty()) {
        llvm::Instruction* next = nullptr;
        if (!llvm::isa<llvm::LoadInst>(instruction) && !IsMaskedLoad(instruction)) {
          next = llvm::dyn_cast<llvm::Instruction>(instruction->getOperand(Source(instruction)));
        }
        gone.insert(instruction);
        instruction->eraseFromParent();
        instruction = next;
      }
    }
  }

  llvm::BasicBlock& block_;
  const TileRegisters& target_;
  llvm::Instruction* end_ = nullptr;  // first instruction after the piece
  std::vector<MultiplyAdd> members_;
  std::unordered_set<const llvm::Value*> sums_;
  std::map<int, Level> levels_;
  std::size_t accumulators_ = 0;
  std::unordered_set<llvm::Value*> read_before_;  // since the last memory barrier
  std::vector<llvm::Instruction*> dead_;
};

}  // namespace

void ScheduleTiles(llvm::Function& function, const TileRegisters& target) {
  for (llvm::BasicBlock& block : function) Tile(block, target).Schedule();
}

}  // namespace tilewright::emit
