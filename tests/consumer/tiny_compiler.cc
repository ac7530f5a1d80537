// tiny_compiler STORE OPERATORS OUTPUT: "compiles" a list of operators. For each operator it
// queries a config and writes the loop nest of the split knobs to OUTPUT. If there is no measured
// config, it reports that and takes the default. Prints a table of the configs. Exit code 1 if an
// operator has no config.

#include <tilewright/tilewright.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Session {
  tw_catalog* catalog = nullptr;
  tw_target* target = nullptr;
  tw_error error = TW_ERROR_INIT;

  bool Open(const char* store) {
    return tw_catalog_create(&catalog, &error) == TW_OK &&
           tw_catalog_add_store(catalog, store, &error) == TW_OK &&
           tw_target_create(nullptr, nullptr, &target, &error) == TW_OK;
  }
  ~Session() {
    tw_target_free(target);
    tw_catalog_free(catalog);
  }
};

/// "dense float32 1 512 / 1000 512"
tw_operator* ReadOperator(const std::string& line, tw_error& error) {
  std::istringstream words(line);
  std::string name, dtype, word;
  words >> name >> dtype;
  std::vector<std::vector<std::int64_t>> shapes(1);
  while (words >> word) {
    if (word == "/") {
      shapes.emplace_back();
    } else {
      shapes.back().push_back(std::stoll(word));
    }
  }
  tw_operator* op = nullptr;
  if (tw_operator_create(name.c_str(), &op, &error) != TW_OK) return nullptr;
  for (const auto& shape : shapes) {
    if (tw_operator_add_tensor(op, dtype.c_str(), shape.data(), shape.size(), &error) != TW_OK) {
      tw_operator_free(op);
      return nullptr;
    }
  }
  return op;
}

/// Returns null after a failure, which session.error describes.
tw_answer* Ask(Session& session, const std::string& line) {
  tw_query_options options = TW_QUERY_OPTIONS_INIT;
  options.accept = TW_ACCEPT_MEASURED | TW_ACCEPT_DEFAULT;
  const auto space = line.find(' ');
  const std::string form = line.substr(0, space), text = line.substr(space + 1);
  tw_answer* answer = nullptr;
  if (form == "key") {
    tw_query_key(session.catalog, session.target, text.c_str(), &options, &answer, &session.error);
  } else if (form == "tuple") {
    tw_query_tuple(session.catalog, session.target, text.c_str(), &options, &answer,
                   &session.error);
  } else if (tw_operator* op = ReadOperator(text, session.error)) {
    tw_query_operator(session.catalog, session.target, op, &options, &answer, &session.error);
    tw_operator_free(op);
  }
  return answer;
}

/// Returns the loops of the split knobs, with the outermost parts of all of them first.
std::vector<std::string> Loops(const tw_answer* answer) {
  std::map<std::size_t, std::vector<std::string>> levels;
  for (std::size_t i = 0; i < tw_answer_knob_count(answer); ++i) {
    tw_knob knob = TW_KNOB_INIT;
    if (tw_answer_knob(answer, i, &knob, nullptr) != TW_OK) continue;
    if (knob.kind != TW_KNOB_SPLIT) continue;
    for (std::size_t part = 0; part < knob.count; ++part) {
      const std::string name = knob.name + std::to_string(part);
      levels[part].push_back("for (int " + name + " = 0; " + name + " < " +
                             std::to_string(knob.integers[part]) + "; ++" + name + ")");
    }
  }
  std::vector<std::string> loops;
  for (const auto& [part, lines] : levels) loops.insert(loops.end(), lines.begin(), lines.end());
  return loops;
}

void Emit(const tw_answer* answer, std::ostream& out) {
  out << "// " << tw_answer_workload(answer) << "\n// " << tw_answer_template(answer) << ", "
      << tw_answer_explanation(answer) << "\n";
  std::string indent;
  for (const std::string& loop : Loops(answer)) {
    out << indent << loop << "\n";
    indent += "  ";
  }
  out << indent << "body();\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: tiny_compiler STORE OPERATORS OUTPUT\n";
    return 2;
  }
  if (tw_api_version() < TW_API_VERSION) {
    std::cerr << "libtilewright.so " << tw_version() << " is older than the header\n";
    return 2;
  }
  Session session;
  if (!session.Open(argv[1])) {
    std::cerr << session.error.message << "\n";
    return 2;
  }
  std::ifstream in(argv[2]);
  std::ofstream out(argv[3]);
  std::string line;
  int misses = 0;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#') continue;
    tw_answer* answer = Ask(session, line);
    if (answer == nullptr) {
      std::cerr << argv[2] << ": " << session.error.message << "\n";
      return 2;
    }
    const double seconds = tw_answer_cost_seconds(answer);
    std::cout << tw_kind_name(tw_answer_kind(answer)) << " "
              << (std::isnan(seconds) ? "-" : std::to_string(1e3 * seconds) + "ms") << " "
              << tw_answer_template(answer) << " #" << tw_answer_config_index(answer) << "\n";
    misses += tw_answer_kind(answer) == TW_KIND_MISS ? 1 : 0;
    Emit(answer, out);
    tw_answer_free(answer);
  }
  return misses > 0 ? 1 : 0;
}
