// The style of HTML pages: system fonts, plain colours, light or dark. It loads nothing.
#pragma once

#include <string_view>

namespace shunt::cli {

inline constexpr std::string_view kPageStyle = R"css(
:root { color-scheme: light dark; --ink: #1c2024; --faint: #667; --line: #8884; --paper: #fff;
  --box: #3b7dd8; --host: #8a93a0; --copy: #4aa564; --mark: #d9822b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --faint: #9aa; --paper: #16181b; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; padding: 0 1rem; max-width: 75rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
.faint { color: var(--faint); }
.row { display: flex; align-items: center; margin: .3rem 0; }
.label { flex: 0 0 9rem; font-weight: 600; overflow: hidden; text-overflow: ellipsis; }
.track { position: relative; flex: 1; height: 2rem; background: var(--line); border-radius: 3px; }
.box { position: absolute; top: 0; bottom: 0; min-width: 2px; box-sizing: border-box;
  background: var(--box); border-right: 1px solid var(--paper); }
.box.host { background: var(--host); }
.box.copy { background: var(--copy); }
.link .label { font-weight: 400; }
.link .track { height: 1.1rem; }
.axis span:last-child { margin-left: auto; }
.box.fell-back { border-bottom: 6px solid var(--mark); }
.box:hover, .box:focus { outline: 2px solid var(--ink); z-index: 1; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0;
  border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; white-space: nowrap; }
tr:target { outline: 2px solid var(--box); }
ul { margin: 0; padding-left: 1.1rem; }
)css";

}  // namespace shunt::cli
