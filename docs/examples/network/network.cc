// Tunes, compiles and runs an ONNX file: network MODEL STORE [SECONDS]
#include <tilewright/tuner.h>

#include <cstdio>
#include <cstdlib>
namespace tw = tilewright::tuner;

int main(int argc, char** argv) {
  auto tuner = tw::Tuner::Create();  // this machine, one thread
  auto model = tw::Model::Read(argc > 2 ? argv[1] : "");
  if (!tuner.ok() || !model.ok()) return std::puts(model.status().message().c_str()), 2;
  tw::TuneOptions tune;
  tw::CompileOptions compile;
  tune.store = compile.store = argv[2];
  tune.seconds = argc > 3 ? std::atof(argv[3]) : 60;
  auto report = tuner->Tune(*model, tune);
  auto network = tuner->Compile(*model, compile);
  if (!report.ok() || !network.ok()) return std::puts(network.status().message().c_str()), 1;
  std::vector<std::vector<char>> memory;  // of inputs, here zeros, and outputs
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const tw::Tensor& t : network->inputs()) in.push_back(memory.emplace_back(t.bytes).data());
  for (const tw::Tensor& t : network->outputs()) out.push_back(memory.emplace_back(t.bytes).data());
  tw::Status ran = network->Run(in, out);
  std::printf("%lld trials: %.3g ms, %.3g ms with default configs; run: %s\n",
              static_cast<long long>(report->trials()), 1e3 * report->best_seconds(),
              1e3 * report->default_seconds(), ran.ok() ? "ok" : ran.message().c_str());
  return ran.ok() ? 0 : 1;
}
