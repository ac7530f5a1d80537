#include "src/compiler/open/position_mean.h"

#include <utility>
#include <vector>

#include "src/base/math.h"
#include "src/compiler/open/position_program.h"
#include "src/ir/open_loop.h"

namespace tilewright {
namespace {

constexpr std::int64_t kRun = 256;  // positions that are summed before others are added

}  // namespace

Program MakePositionMean(const PositionMean& mean) {
  const std::int64_t elements = mean.rows.element, results = mean.rows.rows / mean.joined;
  const Buffer given = MakeBuffer("size", kInt64, {1});
  const Buffer data = MakeBuffer("data", kFloat32, {mean.rows.rows, mean.rows.pitch});
  const Buffer result = MakeBuffer("result", kFloat32, {results, elements});
  const Buffer all = MakeBuffer("sum", kFloat32, {elements}, Scope::kLocal);
  const Buffer part = MakeBuffer("part", kFloat32, {elements}, Scope::kLocal);
  const Expr count = MakeVar("positions"), number = MakeVar("result"), row = MakeVar("row");
  const Expr run = MakeVar("run"), position = MakeVar("position");
  const Expr zero = MakeFloat(kFloat32, 0);
  constexpr std::int64_t kLanes = 16;
  const bool vector = elements <= kLanes && (elements & (elements - 1)) == 0;
  const auto each = [&](const auto& body) {
    const Expr element = MakeVar("element");
    return MakeFor(element, elements, vector ? LoopKind::kVectorized : LoopKind::kSerial,
                   body(element));
  };
  const auto clear = [&](const Buffer& sum) {
    return each([&](const Expr& at) { return MakeStore(sum, {at}, zero); });
  };
  const Expr first = run * Expr(kRun);
  Stmt add = each([&](const Expr& at) {
    const Expr index = (first + position) * Expr(elements) + at + Expr(mean.begin);
    const Expr from = MakeLoad(data, {number * Expr(mean.joined) + row, index});
    return MakeStore(part, {at}, MakeLoad(part, {at}) + from);
  });
  add = MakeOpenFor(position, Min(count - first, Expr(kRun)), kRun, LoopKind::kSerial,
                    std::move(add));
  Stmt sum = each([&](const Expr& at) {
    return MakeStore(all, {at}, MakeLoad(all, {at}) + MakeLoad(part, {at}));
  });
  Stmt body = MakeBlock({clear(part), std::move(add), std::move(sum)});
  body = MakeOpenFor(run, FloorDiv(count + Expr(kRun - 1), Expr(kRun)), CeilDiv(mean.most, kRun),
                     LoopKind::kSerial, std::move(body));
  body = MakeFor(row, mean.joined, LoopKind::kSerial, std::move(body));
  Stmt finish = each([&](const Expr& at) {
    const Expr terms = MakeCast(kFloat32, count * Expr(mean.joined));
    return MakeStore(result, {number, at}, Div(MakeLoad(all, {at}), terms));
  });
  body = MakeBlock({clear(all), std::move(body), std::move(finish)});
  body = MakeAllocate(all, MakeAllocate(part, std::move(body)));
  body = MakeFor(number, results, mean.parallel ? LoopKind::kParallel : LoopKind::kSerial,
                 std::move(body));
  Program program;
  program.name = "kernel";
  program.parameters = {given, data, result};
  program.body = WithPositions(mean.count, count, mean.most, given, std::move(body));
  return program;
}

}  // namespace tilewright
