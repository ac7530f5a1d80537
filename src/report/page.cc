#include "src/report/page.h"

#include <sodium.h>

#include <array>

#include "src/base/json.h"
#include "src/base/printable.h"

namespace tilewright::report {
namespace {

// Returns a policy that allows only scripts and style sheets of this file, by their hashes, and no
// network access. Charts set styles of their elements by script, which the policy permits.
std::string PolicyOf(const PageParts& parts, bool live) {
  return "default-src 'none'; script-src " + ScriptHash(parts.theme) + " " +
         ScriptHash(parts.charts) + " " + ScriptHash(parts.script) + "; style-src " +
         ScriptHash(parts.style) + "; base-uri 'none'; form-action 'none'" +
         (live ? "; connect-src 'self'" : "");
}

/// Makes every text of the document printable. Listings of code keep their lines.
void MakePrintable(Json& json, bool lines) {
  if (json.is_string()) {
    json = Printable(json.get_ref<const std::string&>(), lines);
  } else if (json.is_object()) {
    for (auto& [name, value] : json.items()) {
      MakePrintable(value, name == "loops" || name == "assembly");
    }
  } else if (json.is_array()) {
    for (Json& value : json) {
      if (value.is_string() || value.is_structured()) MakePrintable(value, lines);
    }
  }
}

}  // namespace

std::string PageData(const Document& document) {
  Json json = ToJson(document);
  MakePrintable(json, false);
  return DumpJson(json);
}

std::string ScriptHash(std::string_view script) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(script.data()),
                     script.size());
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
  std::string text(sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES, kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), digest.data(), digest.size(), kVariant);
  text.pop_back();  // the terminating zero
  return "'sha256-" + text + "'";
}

std::string EscapeForScript(std::string_view json) {
  std::string text;
  text.reserve(json.size() + json.size() / 64);
  const std::string escaped = EscapeControls(json);
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const char c = escaped[i];
    if (c == '<' || c == '>' || c == '&') {
      constexpr std::string_view kHex = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      text += "\\u00";
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    } else if (escaped.compare(i, 3, "\xE2\x80\xA8") == 0) {
      text += "\\u2028";
      i += 2;
    } else if (escaped.compare(i, 3, "\xE2\x80\xA9") == 0) {
      text += "\\u2029";
      i += 2;
    } else {
      text += c;
    }
  }
  return text;
}

Status CheckPage() {
  if (!BuiltInParts().charts.empty()) return {};
  return Unsupported(
      "this program was built without Chart.js, which pages draw with; install Debian's "
      "libjs-chart.js and build again (the text and --json need nothing)");
}

Result<std::string> MakePage(const Document& document) {
  TW_RETURN_IF_ERROR(CheckPage());
  const PageParts parts = BuiltInParts();
  const std::string data = EscapeForScript(PageData(document));
  const std::array<std::pair<std::string_view, std::string>, 6> fills = {{
      {"{{policy}}", PolicyOf(parts, document.live)},
      {"{{style}}", std::string(parts.style)},
      {"{{theme}}", std::string(parts.theme)},
      {"{{charts}}", std::string(parts.charts)},
      {"{{data}}", data},
      {"{{script}}", std::string(parts.script)},
  }};
  // Each placeholder is replaced once, in the order of the file; inserted text is not searched.
  std::string page;
  page.reserve(parts.html.size() + parts.charts.size() + parts.script.size() + data.size() + 65536);
  std::string_view rest = parts.html;
  for (const auto& [place, text] : fills) {
    const std::size_t at = rest.find(place);
    TW_CHECK(at != std::string_view::npos, "report.html lacks a place");
    page += rest.substr(0, at);
    page += text;
    rest.remove_prefix(at + place.size());
  }
  page += rest;
  return page;
}

}  // namespace tilewright::report
