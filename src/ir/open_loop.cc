#include "src/ir/open_loop.h"

#include <memory>
#include <utility>

#include "src/base/status.h"

namespace tilewright {

Stmt MakeOpenFor(Expr var, Expr count, std::int64_t extent, LoopKind loop, Stmt body,
                 std::map<std::string, std::int64_t> attributes) {
  TW_CHECK(count);
  StmtNode node = *MakeFor(std::move(var), extent, loop, std::move(body), std::move(attributes));
  node.value = std::move(count);
  return Stmt(std::make_shared<const StmtNode>(std::move(node)));
}

Stmt MakeLet(Expr var, Expr value, std::int64_t extent, Stmt body) {
  TW_CHECK(value);
  StmtNode node = *MakeFor(std::move(var), extent, LoopKind::kSerial, std::move(body));
  node.indices.push_back(std::move(value));
  return Stmt(std::make_shared<const StmtNode>(std::move(node)));
}

}  // namespace tilewright
