#include "src/schedule/intrinsics.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "src/base/math.h"

namespace tilewright {
namespace {

constexpr std::array kDotIntrinsics = {
    DotIntrinsic{"dot2.bf16", 2, kBFloat16, kBFloat16, kFloat32},
    DotIntrinsic{"dot2.s16", 2, kInt16, kInt16, kInt32},
    DotIntrinsic{"dot4.s8s8", 4, kInt8, kInt8, kInt32},
    DotIntrinsic{"dot4.s8u8", 4, kInt8, kUInt8, kInt32},
    DotIntrinsic{"dot4.u8s8", 4, kUInt8, kInt8, kInt32},
    DotIntrinsic{"taps4.u8s8", 4, kUInt8, kInt8, kInt32, true},
};

constexpr std::array kMmaIntrinsics = {
    MmaIntrinsic{"mma.m16n8k16.f16", 16, 8, 16, kFloat16, kFloat32, 80},
    MmaIntrinsic{"mma.m16n8k32.s8", 16, 8, 32, kInt8, kInt32, 80},
    MmaIntrinsic{"mma.m16n8k8.f16", 16, 8, 8, kFloat16, kFloat32, 75},
    MmaIntrinsic{"mma.m16n8k8.tf32", 16, 8, 8, kFloat32, kFloat32, 80},
    MmaIntrinsic{"mma.m8n8k16.s8", 8, 8, 16, kInt8, kInt32, 75},
};

constexpr std::array kTileIntrinsics = {
    TileIntrinsic{"tiles.bf16", 2, kBFloat16, kBFloat16, kFloat32},
    TileIntrinsic{"tiles.s8s8", 4, kInt8, kInt8, kInt32},
    TileIntrinsic{"tiles.u8s8", 4, kUInt8, kInt8, kInt32},
};

template <typename Intrinsic, std::size_t kCount>
const Intrinsic* FindNamed(const std::array<Intrinsic, kCount>& all, std::string_view name) {
  const auto* found = std::ranges::find(all, name, &Intrinsic::name);
  return found == all.end() ? nullptr : found;
}

}  // namespace

const DotIntrinsic* FindDotIntrinsic(std::string_view name) {
  return FindNamed(kDotIntrinsics, name);
}

std::span<const MmaIntrinsic> MmaIntrinsics() { return kMmaIntrinsics; }

const TileIntrinsic* FindTileIntrinsic(std::string_view name) {
  return FindNamed(kTileIntrinsics, name);
}

Stmt MakeTileProducts(const TileIntrinsic& tiles, std::vector<Region> regions,
                      const TileProducts& products) {
  StmtNode node = *MakeIntrinsic(std::string(tiles.name), std::move(regions));
  node.attributes = {{"rows", products.shape.rows},     {"columns", products.shape.columns},
                     {"groups", products.shape.groups}, {"acc_row", products.acc_row},
                     {"a_row", products.a_row},         {"b_group", products.b_group}};
  for (std::size_t i = 0; i < products.steps.size(); ++i) {
    const std::string number = std::to_string(i);
    node.attributes["steps" + number] = products.steps[i].count;
    node.attributes["a_step" + number] = products.steps[i].a;
    node.attributes["b_step" + number] = products.steps[i].b;
  }
  return Stmt(std::make_shared<const StmtNode>(std::move(node)));
}

TileProducts TileProductsOf(const StmtNode& stmt) {
  const auto number = [&](const std::string& name) {
    const auto found = stmt.attributes.find(name);
    return found == stmt.attributes.end() ? 0 : found->second;
  };
  TileProducts products{{number("rows"), number("columns"), number("groups")},
                        number("acc_row"),
                        number("a_row"),
                        number("b_group"),
                        {}};
  for (std::size_t i = 0; stmt.attributes.contains("steps" + std::to_string(i)); ++i) {
    const std::string at = std::to_string(i);
    products.steps.push_back({number("steps" + at), number("a_step" + at), number("b_step" + at)});
  }
  return products;
}

bool MultipliesTiles(const Stmt& stmt) {
  if (stmt->kind == StmtKind::kIntrinsic) return FindTileIntrinsic(stmt->name) != nullptr;
  return std::ranges::any_of(stmt->body, MultipliesTiles);
}

std::int64_t TileRegisterShape::row_tiles() const { return CeilDiv(rows, TileIntrinsic::kRows); }

std::int64_t TileRegisterShape::column_tiles() const {
  return CeilDiv(columns, TileIntrinsic::kColumns);
}

bool TileRegisterShape::fits() const {
  const std::int64_t row_count = row_tiles(), column_count = column_tiles();
  const std::int64_t left =
      TileIntrinsic::kRegisters - row_count * column_count - std::min(row_count, column_count);
  const std::int64_t streamed = std::max(row_count, column_count);
  // Tiles that share a register have one size; a last, smaller one has its own.
  const bool cut = row_count > column_count ? rows % TileIntrinsic::kRows != 0
                                            : columns % TileIntrinsic::kColumns != 0;
  return left >= (cut && left < streamed ? 2 : 1);
}

const MmaIntrinsic* FindMmaIntrinsic(std::string_view name) {
  return FindNamed(kMmaIntrinsics, name);
}

}  // namespace tilewright
