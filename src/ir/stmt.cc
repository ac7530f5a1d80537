#include "src/ir/stmt.h"

#include "src/base/status.h"

namespace tilewright {
namespace {

StmtNode NodeOf(StmtKind kind) {
  StmtNode node{};
  node.kind = kind;
  return node;
}
Stmt Share(StmtNode node) { return Stmt(std::make_shared<const StmtNode>(std::move(node))); }

}  // namespace

Stmt MakeBlock(std::vector<Stmt> body) {
  if (body.size() == 1) return std::move(body[0]);
  StmtNode node = NodeOf(StmtKind::kBlock);
  for (Stmt& part : body) {
    if (part->kind == StmtKind::kBlock) {
      node.body.insert(node.body.end(), part->body.begin(), part->body.end());
    } else {
      node.body.push_back(std::move(part));
    }
  }
  return Share(std::move(node));
}

Stmt MakeFor(Expr var, std::int64_t extent, LoopKind loop, Stmt body,
             std::map<std::string, std::int64_t> attributes) {
  TW_CHECK(extent >= 1 && var->kind == ExprKind::kVar);
  StmtNode node = NodeOf(StmtKind::kFor);
  node.var = std::move(var);
  node.extent = extent;
  node.loop = loop;
  node.body.push_back(std::move(body));
  node.attributes = std::move(attributes);
  return Share(std::move(node));
}

Stmt MakeStore(Buffer buffer, std::vector<Expr> indices, Expr value) {
  TW_CHECK(indices.size() == buffer->shape.size(), buffer->name);
  TW_CHECK(value.dtype() == buffer->dtype, buffer->name);
  StmtNode node = NodeOf(StmtKind::kStore);
  node.buffer = std::move(buffer);
  node.indices = std::move(indices);
  node.value = std::move(value);
  return Share(std::move(node));
}

Stmt MakeIf(Expr condition, Stmt then_body, Stmt else_body) {
  std::int64_t value = 0;
  if (condition.IsInt(&value)) {
    if (value != 0) return then_body;
    return else_body ? else_body : MakeBlock({});
  }
  StmtNode node = NodeOf(StmtKind::kIf);
  node.condition = std::move(condition);
  node.body.push_back(std::move(then_body));
  if (else_body) node.body.push_back(std::move(else_body));
  return Share(std::move(node));
}

Stmt MakeAllocate(Buffer buffer, Stmt body) {
  StmtNode node = NodeOf(StmtKind::kAllocate);
  node.buffer = std::move(buffer);
  node.body.push_back(std::move(body));
  return Share(std::move(node));
}

Stmt MakeCopy(Region destination, Region source, Expr padding) {
  StmtNode node = NodeOf(StmtKind::kCopy);
  node.regions.push_back(std::move(destination));
  node.regions.push_back(std::move(source));
  node.value = std::move(padding);
  return Share(std::move(node));
}

Stmt MakeIntrinsic(std::string name, std::vector<Region> regions) {
  StmtNode node = NodeOf(StmtKind::kIntrinsic);
  node.name = std::move(name);
  node.regions = std::move(regions);
  return Share(std::move(node));
}

Stmt MakeLibraryCall(LibraryCall call, const Buffer& result, const std::vector<Buffer>& operands) {
  StmtNode node = NodeOf(StmtKind::kLibraryCall);
  node.name = call.file;
  node.library = std::make_shared<const LibraryCall>(std::move(call));
  const auto add = [&](const Buffer& buffer) {
    node.regions.push_back(
        {buffer, std::vector<Expr>(buffer->shape.size(), Expr(0)), buffer->shape});
  };
  add(result);
  for (const Buffer& operand : operands) add(operand);
  return Share(std::move(node));
}

Stmt MakeBarrier(std::string engines) {
  StmtNode node = NodeOf(StmtKind::kBarrier);
  node.name = std::move(engines);
  return Share(std::move(node));
}

Stmt MakePrefetch(Buffer buffer, std::vector<Expr> indices, int locality) {
  TW_CHECK(indices.size() == buffer->shape.size(), buffer->name);
  StmtNode node = NodeOf(StmtKind::kPrefetch);
  node.buffer = std::move(buffer);
  node.indices = std::move(indices);
  node.attributes["locality"] = locality;
  return Share(std::move(node));
}

namespace {

void CollectLibraryCalls(const Stmt& stmt, std::vector<const LibraryCall*>& calls) {
  if (stmt->kind == StmtKind::kLibraryCall) calls.push_back(stmt->library.get());
  for (const Stmt& inner : stmt->body) CollectLibraryCalls(inner, calls);
}

}  // namespace

std::vector<const LibraryCall*> LibraryCallsOf(const Stmt& stmt) {
  std::vector<const LibraryCall*> calls;
  if (stmt) CollectLibraryCalls(stmt, calls);
  return calls;
}

}  // namespace tilewright
