/** What a bundler makes of Cursor's SDK up to 1.0.31: plain descriptors, in two modules. */
export const PLAIN = `
var modules = {
  "./rule.js"(module, exports, require) {
    require.d(exports, { RuleX: () => a });
    var r = require("@bufbuild/protobuf"), k;
    !function (e) { e[e.OFF = 0] = "OFF" }(k || (k = {})), r.proto3.util.setEnumType(k, "agent.v1.RuleKind", [{ no: 0, name: "RULE_KIND_OFF" }, { no: 1, name: "RULE_KIND_ON" }]);
    class a extends r.Message {}
    a.runtime = r.proto3, a.typeName = "agent.v1.Rule", a.fields = r.proto3.util.newFieldList(() => [
      { no: 1, name: "path", kind: "scalar", T: 9 },
      { no: 2, name: "kind", kind: "enum", T: r.proto3.getEnumType(k), opt: true },
    ]);
  },
  "./run.js"(module, exports, require) {
    var r = require("@bufbuild/protobuf"), x = require("./rule.js");
    class b extends r.Message {}
    b.runtime = r.proto3, b.typeName = "agent.v1.Run", b.fields = r.proto3.util.newFieldList(() => [
      { no: 1, name: "rules", kind: "message", T: x.RuleX, repeated: true },
      { no: 2, name: "by_name", kind: "map", K: 9, V: { kind: "message", T: x.RuleX } },
      { no: 3, name: "text", kind: "scalar", T: 9, oneof: "body" },
      { no: 4, name: "at", kind: "message", T: r.Timestamp },
    ]);
    const s = { typeName: "agent.v1.AgentService", methods: { go: { name: "Go", I: b, O: x.RuleX, kind: r.MethodKind.Unary } } };
  },
};`;

/** The same in the oldest versions, 1.0.19 and 1.0.22: static members, of which the compiler makes the above. */
export const STATIC = PLAIN.replaceAll(
  /class (\w) extends r\.Message \{\}\s+\w\.runtime = r\.proto3, \w\.typeName = ("[^"]+"), \w\.fields = (r\.proto3[^;]+);/g,
  "class $1 extends r.Message { text = r.zero; static runtime = r.proto3; static typeName = $2; static fields = $3; }",
);

/** The same schema as since 1.0.32: compact strings. */
export const COMPACT = `
var modules = {
  "./rule.js"(module, exports, require) {
    require.d(exports, { RuleX: () => a });
    var n = require("@bufbuild/protobuf"), s = require("./compact.js");
    const p = "agent.v1.";
    class base extends s.HL { static get runtime() { return n.proto3 } static $p() { return p } }
    var k = (0, s.QT)(n.proto3, p, "RuleKind", [[0, "OFF"], [1, "ON"]], 1);
    class a extends base { static $() { return ["Rule|1 path 9|2 kind #0?", k] } }
  },
  "./run.js"(module, exports, require) {
    var n = require("@bufbuild/protobuf"), s = require("./compact.js"), x = require("./rule.js");
    class base extends s.HL { static get runtime() { return n.proto3 } static $p() { return "agent.v1." } }
    class b extends base { static $() { return ["Run|1 rules #0*|2 by_name 9,#0|3 text 9 body|4 at #1", x.RuleX, n.Timestamp] } }
    const t = { typeName: "agent.v1.AgentService", methods: { go: { name: "Go", I: b, O: x.RuleX, kind: n.MethodKind.Unary } } };
  },
};`;
