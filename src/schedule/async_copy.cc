#include "src/schedule/async_copy.h"

#include "src/ir/visit.h"

namespace tilewright {
namespace {

constexpr const char* kAsync = "async";
constexpr const char* kAhead = "ahead";
constexpr const char* kPending = "pending";
constexpr const char* kCommit = "async.commit";
constexpr const char* kWait = "async.wait";

Stmt WithAttribute(const Stmt& stmt, const char* name, std::int64_t value) {
  StmtNode node = *stmt;
  node.attributes[name] = value;
  return Stmt(std::make_shared<const StmtNode>(std::move(node)));
}

}  // namespace

Stmt MakeAsyncCopy(Region to, Region from, Expr condition) {
  StmtNode node = *MakeCopy(std::move(to), std::move(from));
  node.condition = std::move(condition);
  node.attributes[kAsync] = 1;
  return Stmt(std::make_shared<const StmtNode>(std::move(node)));
}

bool IsAsyncCopy(const StmtNode& stmt) {
  return stmt.kind == StmtKind::kCopy && stmt.attributes.contains(kAsync);
}

bool IsAhead(const StmtNode& copy) { return copy.attributes.contains(kAhead); }

Stmt MarkAhead(const Stmt& stmt) {
  if (IsAsyncCopy(*stmt)) return WithAttribute(stmt, kAhead, 1);
  if (stmt->body.empty()) return stmt;
  std::vector<Stmt> body;
  for (const Stmt& part : stmt->body) body.push_back(MarkAhead(part));
  return WithBody(stmt, std::move(body));
}

Stmt MakeAsyncCommit() { return MakeIntrinsic(kCommit, {}); }

bool IsAsyncCommit(const StmtNode& stmt) {
  return stmt.kind == StmtKind::kIntrinsic && stmt.name == kCommit;
}

Stmt MakeAsyncWait(int pending, std::vector<Region> arrived) {
  return WithAttribute(MakeIntrinsic(kWait, std::move(arrived)), kPending, pending);
}

bool IsAsyncWait(const StmtNode& stmt) {
  return stmt.kind == StmtKind::kIntrinsic && stmt.name == kWait;
}

int PendingGroupsOf(const StmtNode& wait) { return static_cast<int>(wait.attributes.at(kPending)); }

}  // namespace tilewright
