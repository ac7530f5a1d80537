// Dot products of 8- and 16-bit numbers into 32-bit lanes. All forms of integers are exact. If the
// target has no instruction that sums four 8-bit products without saturation, the even and the odd
// bytes of each lane are widened to 16 bits and multiplied separately (vpmaddwd cannot overflow
// then). If the second operand has a reduced range, no sum of two products can saturate, and
// vpmaddubsw is used. Arm's dot product takes two signed or two unsigned operands: an unsigned
// operand is split into its lower seven bits and its upper bit, as two signed operands. Fewer lanes
// than those of an instruction are computed in the next larger vector, whose other lanes are
// unused.

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsARM.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "src/base/math.h"
#include "src/codegen/llvm/function_emitter.h"
#include "src/schedule/async_copy.h"
#include "src/schedule/intrinsics.h"

namespace tilewright::emit {
namespace {

using llvm::Intrinsic::ID;
namespace intrinsic = llvm::Intrinsic;

/// Returns the instruction for 4, 8 or 16 lanes.
ID ByLanes(int lanes, ID four, ID eight, ID sixteen) {
  return lanes == 4 ? four : lanes == 8 ? eight : sixteen;
}

bool IsArm(const KernelContext& kernel) {
  return kernel.machine == Machine::kArm64 || kernel.machine == Machine::kArm32;
}

bool HasPairProduct(const KernelContext& kernel, int lanes) {
  return kernel.machine == Machine::kX86 && (lanes == 4 || (lanes == 8 && kernel.features.avx2) ||
                                             (lanes == 16 && kernel.features.avx512));
}

bool HasVnni(const KernelContext& kernel, int lanes) {
  if (kernel.machine != Machine::kX86 || (lanes != 4 && lanes != 8 && lanes != 16)) return false;
  return kernel.features.avx512_vnni || (kernel.features.avx_vnni && lanes != 16);
}

llvm::VectorType* Lanes(llvm::Type* element, int count) {
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(count));
}

/// Returns the lanes of the vector that computes `count` lanes.
int PaddedLanes(const KernelContext& kernel, int count) {
  constexpr int kMin = 4;  // of the instructions
  if (kernel.machine != Machine::kX86 && !IsArm(kernel)) return count;
  return std::max(kMin, static_cast<int>(std::bit_ceil(static_cast<unsigned>(count))));
}

/// Returns the first `count` lanes of a vector; further ones are unused.
llvm::Value* WithLanes(llvm::IRBuilder<>& builder, llvm::Value* value, int count) {
  const auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
  const int given = static_cast<int>(type->getNumElements());
  if (given == count) return value;
  std::vector<int> lanes(static_cast<std::size_t>(count), llvm::PoisonMaskElem);
  std::iota(lanes.begin(), lanes.begin() + std::min(given, count), 0);
  return builder.CreateShuffleVector(value, lanes);
}

/// Computes acc + a . b for `depth` elements per lane with plain instructions, for targets without
/// a dot product.
llvm::Value* PlainDot(llvm::IRBuilder<>& builder, llvm::Value* acc, llvm::Value* a, llvm::Value* b,
                      int lanes, int depth, bool a_signed) {
  llvm::VectorType* narrow =
      Lanes(builder.getIntNTy(static_cast<unsigned>(32 / depth)), lanes * depth);
  llvm::VectorType* wide = Lanes(builder.getInt32Ty(), lanes * depth);
  a = builder.CreateIntCast(builder.CreateBitCast(a, narrow), wide, a_signed);
  b = builder.CreateSExt(builder.CreateBitCast(b, narrow), wide);
  llvm::Value* products = builder.CreateMul(a, b);
  for (int j = 0; j < depth; ++j) {
    std::vector<int> picked;
    for (int lane = 0; lane < lanes; ++lane) picked.push_back(lane * depth + j);
    acc = builder.CreateAdd(acc, builder.CreateShuffleVector(products, picked));
  }
  return acc;
}

llvm::Value* PairProduct(llvm::IRBuilder<>& builder, int lanes, llvm::Value* a, llvm::Value* b) {
  const ID id = ByLanes(lanes, intrinsic::x86_sse2_pmadd_wd, intrinsic::x86_avx2_pmadd_wd,
                        intrinsic::x86_avx512_pmaddw_d_512);
  llvm::VectorType* words = Lanes(builder.getInt16Ty(), lanes * 2);
  return builder.CreateIntrinsic(
      id, {}, {builder.CreateBitCast(a, words), builder.CreateBitCast(b, words)});
}

/// Computes acc + a . b for four bytes per lane, with b of reduced range: sums pairs of products in
/// 16 bits, then those sums.
llvm::Value* NarrowDot(llvm::IRBuilder<>& builder, llvm::Value* acc, llvm::Value* a, llvm::Value* b,
                       int lanes) {
  const ID id = ByLanes(lanes, intrinsic::x86_ssse3_pmadd_ub_sw_128,
                        intrinsic::x86_avx2_pmadd_ub_sw, intrinsic::x86_avx512_pmaddubs_w_512);
  llvm::VectorType* bytes = Lanes(builder.getInt8Ty(), lanes * 4);
  llvm::Value* pairs = builder.CreateIntrinsic(
      id, {}, {builder.CreateBitCast(a, bytes), builder.CreateBitCast(b, bytes)});
  llvm::Value* ones = llvm::ConstantInt::get(Lanes(builder.getInt16Ty(), lanes * 2), 1);
  return builder.CreateAdd(acc, PairProduct(builder, lanes, pairs, ones));
}

bool HasArmDot(const KernelContext& kernel, int lanes) {
  return IsArm(kernel) && kernel.features.arm_dotprod && (lanes == 4 || lanes == 2);
}

/// Computes acc + a . b for four signed bytes per lane.
llvm::Value* ArmDot(llvm::IRBuilder<>& builder, const KernelContext& kernel, llvm::Value* acc,
                    llvm::Value* a, llvm::Value* b, int lanes) {
  ID id = intrinsic::arm_neon_sdot;
  if (kernel.machine == Machine::kArm64) id = intrinsic::aarch64_neon_sdot;
  llvm::VectorType* bytes = Lanes(builder.getInt8Ty(), lanes * 4);
  return builder.CreateIntrinsic(
      id, {acc->getType(), bytes},
      {acc, builder.CreateBitCast(a, bytes), builder.CreateBitCast(b, bytes)});
}

/// Computes acc + a . b for two signed words per lane: two products of 16 bits that are widened and
/// added in one instruction (smlal). The preparation of b is shared by all products with it.
llvm::Value* WideningDot(llvm::IRBuilder<>& builder, llvm::Value* acc, llvm::Value* a,
                         llvm::Value* b, int lanes) {
  llvm::VectorType* words = Lanes(builder.getInt16Ty(), lanes);
  const auto widened = [&](llvm::Value* value, int half) {
    if (half > 0) value = builder.CreateLShr(value, 16);
    return builder.CreateSExt(builder.CreateTrunc(value, words), acc->getType());
  };
  for (int half = 0; half < 2; ++half) {
    acc = builder.CreateAdd(acc, builder.CreateMul(widened(a, half), widened(b, half)));
  }
  return acc;
}

}  // namespace

/// `a`: four bytes per lane, `b`: four signed bytes per lane, both as <lanes x i32>.
llvm::Value* FunctionEmitter::EmitDot4(Value* acc, Value* a, Value* b, int lanes,
                                       const DotOperands& operands) {
  const bool a_signed = operands.a_signed;
  if (on_gpu()) {
    if (Value* sum = EmitGpuDot4(acc, a, b, lanes, a_signed)) return sum;
    return PlainDot(builder_, acc, a, b, lanes, 4, a_signed);
  }
  if (HasArmDot(kernel_, lanes)) {
    if (a_signed) return ArmDot(builder_, kernel_, acc, a, b, lanes);
    Value* low = builder_.CreateAnd(a, llvm::ConstantInt::get(a->getType(), 0x7F7F7F7F));
    // 128 is not a signed byte: 64 or 0 is added twice.
    Value* half = builder_.CreateAnd(builder_.CreateLShr(a, 1),
                                     llvm::ConstantInt::get(a->getType(), 0x40404040));
    for (Value* part : {low, half, half}) acc = ArmDot(builder_, kernel_, acc, part, b, lanes);
    return acc;
  }
  if (a_signed) return PlainDot(builder_, acc, a, b, lanes, 4, a_signed);
  if (HasVnni(kernel_, lanes)) {
    const ID id = ByLanes(lanes, intrinsic::x86_avx512_vpdpbusd_128,
                          intrinsic::x86_avx512_vpdpbusd_256, intrinsic::x86_avx512_vpdpbusd_512);
    return builder_.CreateIntrinsic(id, {}, {acc, a, b});
  }
  if (!HasPairProduct(kernel_, lanes)) {
    return PlainDot(builder_, acc, a, b, lanes, 4, /*a_signed=*/false);
  }
  // For four lanes the instruction requires SSSE3, which AVX2 includes.
  if (operands.b_narrow && kernel_.features.avx2) return NarrowDot(builder_, acc, a, b, lanes);
  Value* a_even = builder_.CreateAnd(a, llvm::ConstantInt::get(a->getType(), 0x00FF00FF));
  Value* a_odd = builder_.CreateAnd(builder_.CreateLShr(a, 8),
                                    llvm::ConstantInt::get(a->getType(), 0x00FF00FF));
  Value* words = builder_.CreateBitCast(b, Lanes(builder_.getInt16Ty(), lanes * 2));
  Value* b_even = builder_.CreateAShr(builder_.CreateShl(words, 8), 8);
  Value* b_odd = builder_.CreateAShr(words, 8);
  acc = builder_.CreateAdd(acc, PairProduct(builder_, lanes, a_even, b_even));
  return builder_.CreateAdd(acc, PairProduct(builder_, lanes, a_odd, b_odd));
}

/// `a`, `b`: two signed 16-bit values per lane, as <lanes x i32>.
llvm::Value* FunctionEmitter::EmitDot2(Value* acc, Value* a, Value* b, int lanes) {
  if (HasVnni(kernel_, lanes)) {
    const ID id = ByLanes(lanes, intrinsic::x86_avx512_vpdpwssd_128,
                          intrinsic::x86_avx512_vpdpwssd_256, intrinsic::x86_avx512_vpdpwssd_512);
    return builder_.CreateIntrinsic(id, {}, {acc, a, b});
  }
  if (HasPairProduct(kernel_, lanes)) {
    return builder_.CreateAdd(acc, PairProduct(builder_, lanes, a, b));
  }
  if (IsArm(kernel_)) return WideningDot(builder_, acc, a, b, lanes);
  return PlainDot(builder_, acc, a, b, lanes, 2, /*a_signed=*/true);
}

/// `a`, `b`: two bfloat16 per lane, as <lanes x i32>. Products are exact in float32; elsewhere than
/// in the instruction, they are added one after the other. The second factor of the instruction may
/// be a broadcast from memory.
llvm::Value* FunctionEmitter::EmitDotBFloat16(Value* acc, Value* a, Value* b, int lanes) {
  if (kernel_.features.avx512_bf16 && (lanes == 4 || lanes == 8 || lanes == 16)) {
    const ID id =
        ByLanes(lanes, intrinsic::x86_avx512bf16_dpbf16ps_128,
                intrinsic::x86_avx512bf16_dpbf16ps_256, intrinsic::x86_avx512bf16_dpbf16ps_512);
    llvm::VectorType* pairs = Lanes(builder_.getBFloatTy(), 2 * lanes);
    return builder_.CreateIntrinsic(
        id, {}, {acc, builder_.CreateBitCast(b, pairs), builder_.CreateBitCast(a, pairs)});
  }
  llvm::VectorType* real = Lanes(builder_.getFloatTy(), lanes);
  const auto upper = [&](Value* value) {
    Value* bits = builder_.CreateAnd(value, llvm::ConstantInt::get(value->getType(), 0xFFFF0000));
    return builder_.CreateBitCast(bits, real);
  };
  const auto lower = [&](Value* value) {
    return builder_.CreateBitCast(builder_.CreateShl(value, 16), real);
  };
  return MulAdd(upper(a), upper(b), MulAdd(lower(a), lower(b), acc));
}

/// Loads `count` 32-bit lanes into a vector of `padded` lanes.
llvm::Value* FunctionEmitter::LoadLanes(Value* address, llvm::Align alignment, int count,
                                        int padded) {
  auto* type = Lanes(builder_.getInt32Ty(), count);
  const bool masks = kernel_.machine == Machine::kX86 && kernel_.features.avx2;
  if (count == padded || !masks) {
    return WithLanes(builder_, builder_.CreateAlignedLoad(type, address, alignment), padded);
  }
  std::vector<llvm::Constant*> mask;
  for (int i = 0; i < padded; ++i) mask.push_back(builder_.getInt1(i < count));
  auto* whole = Lanes(builder_.getInt32Ty(), padded);
  return builder_.CreateMaskedLoad(whole, address, alignment, llvm::ConstantVector::get(mask),
                                   llvm::Constant::getNullValue(whole));
}

void FunctionEmitter::EmitIntrinsic(const Stmt& stmt) {
  memo_.clear();
  if (IsAsyncCommit(*stmt)) return EmitAsyncCommit();
  if (IsAsyncWait(*stmt)) return EmitAsyncWait(*stmt);
  if (const MmaIntrinsic* mma = FindMmaIntrinsic(stmt->name)) return EmitMma(*stmt, *mma);
  if (const TileIntrinsic* tiles = FindTileIntrinsic(stmt->name)) return EmitTiles(*stmt, *tiles);
  const DotIntrinsic* dot = FindDotIntrinsic(stmt->name);
  if (dot == nullptr) return kernel_.Fail(Unsupported("no code for the intrinsic " + stmt->name));
  if (lanes_ > 0) return kernel_.Fail(Unsupported("intrinsic inside of a vector loop"));
  if (stmt->regions.size() != 3) {
    return kernel_.Fail(InvalidArgument(stmt->name + " takes 3 regions, given " +
                                        std::to_string(stmt->regions.size())));
  }
  const Region& acc = stmt->regions[0];
  const Region& a = stmt->regions[1];
  const Region& b = stmt->regions[2];
  const std::int64_t extent = Product(acc.extent);
  const std::int64_t per_lane = extent * dot->depth;
  if (Product(a.extent) != (dot->taps ? per_lane : dot->depth) || Product(b.extent) != per_lane ||
      acc.buffer->dtype != dot->acc || a.buffer->dtype != dot->a || b.buffer->dtype != dot->b) {
    return kernel_.Fail(InvalidArgument(stmt->name + ": regions of the wrong size or type"));
  }
  if (dot->taps) return EmitTaps(*stmt);
  std::optional<Linear> acc_index = Flatten(*acc.buffer, acc.min);
  const std::optional<Linear> a_index = Flatten(*a.buffer, a.min);
  std::optional<Linear> b_index = Flatten(*b.buffer, b.min);
  if (!acc_index || !a_index || !b_index) {
    return kernel_.Fail(Internal(stmt->name + ": an index is not a scalar"));
  }
  Value* bytes = builder_.CreateAlignedLoad(builder_.getInt32Ty(), AddressOf(*a.buffer, *a_index),
                                            AlignmentOf(*a.buffer, *a_index));
  std::int64_t lanes = kernel_.vector_bytes() / 4;
  if (kernel_.features.avx512 && !kernel_.features.avx512_vnni && kernel_.features.avx_vnni)
    lanes = 8;
  for (std::int64_t done = 0; done < extent; done += lanes) {
    lanes = std::min(lanes, extent - done);
    const auto count = static_cast<int>(lanes);
    const int padded = PaddedLanes(kernel_, count);
    auto* type = Lanes(ScalarType(context_, dot->acc), count);
    Value* acc_address = AddressOf(*acc.buffer, *acc_index);
    const llvm::Align acc_align = AlignmentOf(*acc.buffer, *acc_index);
    Value* sum =
        WithLanes(builder_, builder_.CreateAlignedLoad(type, acc_address, acc_align), padded);
    Value* left = builder_.CreateVectorSplat(static_cast<unsigned>(padded), bytes);
    Value* right =
        LoadLanes(AddressOf(*b.buffer, *b_index), AlignmentOf(*b.buffer, *b_index), count, padded);
    if (dot->a == kBFloat16) {
      sum = EmitDotBFloat16(sum, left, right, padded);
    } else if (dot->b == kUInt8) {  // the instructions take the unsigned factor first
      sum = EmitDot4(sum, right, left, padded, {.b_narrow = b.buffer->narrow});
    } else {
      sum = dot->depth == 4
                ? EmitDot4(sum, left, right, padded, {dot->a == kInt8, b.buffer->narrow})
                : EmitDot2(sum, left, right, padded);
    }
    builder_.CreateAlignedStore(WithLanes(builder_, sum, count), acc_address, acc_align);
    acc_index->constant += lanes;
    b_index->constant += lanes * dot->depth;
  }
}

}  // namespace tilewright::emit
