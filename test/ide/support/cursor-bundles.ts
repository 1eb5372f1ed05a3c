/**
 * The class that the patch looks for, written by us in the shapes that the versions of the IDE have: the same methods,
 * other names for everything that a minifier names, other first statements, another way to tell the end of a thought.
 */
interface Shape {
  /** What the minifier called things. */
  readonly names: {
    readonly adapter: string;
    readonly service: string;
    readonly kinds: string;
    readonly types: string;
    readonly bubble: string;
    readonly batch: string;
    readonly streamer: string;
  };
  /** The first statements of `handleTextDelta`, after the return on an empty text. */
  readonly opening: string;
  /** How text is stored. */
  readonly store: (service: string) => string;
  readonly isUpdateStyle: boolean;
}

const inMap = (service: string) =>
  `${service}.updateComposerDataSetStore(this.composerDataHandle,a=>a("conversationMap",s.bubbleId,"text",o))`;
const perBubble = (service: string) =>
  `${service}.updateComposerBubbleSetStore(this.composerDataHandle,s.bubbleId,a=>a("text",o))`;
const NARRATION = "this.options.preserveUnfinishedToolsOnNarration||this.cancelUnfinishedToolCalls()";

/** Seven names, in the order of `Shape`. */
export const names = (list: string): Shape["names"] => {
  const [adapter = "", service = "", kinds = "", types = "", bubble = "", batch = "", streamer = ""] = list.split(" ");
  return { adapter, service, kinds, types, bubble, batch, streamer };
};

export const SHAPES = {
  "2.5.17": {
    names: names("jQt $a go mo PS S_ Kxf"),
    opening: "this.cancelUnfinishedToolCalls();",
    store: inMap,
    isUpdateStyle: false,
  },
  "2.6.11": {
    names: names("sit Oa ko ul h_ Gw Bkf"),
    opening: "this.cancelUnfinishedToolCalls(),this.notifyFirstTokenIfNeeded();",
    store: inMap,
    isUpdateStyle: true,
  },
  "2.6.19": {
    names: names("u$t Fa ko ul m_ Hw vkf"),
    opening: "this.cancelUnfinishedToolCalls(),this.notifyFirstTokenIfNeeded();",
    store: inMap,
    isUpdateStyle: true,
  },
  "3.0.12": {
    names: names("$i$ Ua Pc Hy jw Jw T$"),
    opening: `${NARRATION},this.notifyFirstTokenIfNeeded();`,
    store: inMap,
    isUpdateStyle: true,
  },
  "3.2.0": {
    names: names("Xq0 Ua Pc Hy jw Gy Dz"),
    opening: `${NARRATION};this.notifyFirstTokenIfNeeded();`,
    store: inMap,
    isUpdateStyle: true,
  },
  "3.22.5": {
    names: names("_m al Rl Yt b$ Q_ Wk"),
    opening: `${NARRATION},this.notifyFirstTokenIfNeeded();`,
    store: perBubble,
    isUpdateStyle: true,
  },
} as const satisfies Record<string, Shape>;

export type Version = keyof typeof SHAPES;
export const VERSIONS = Object.keys(SHAPES) as Version[];

/** The class, as the minifier leaves it. */
function adapterClass(version: Version, n: Shape["names"]): string {
  const { opening, store, isUpdateStyle }: Shape = SHAPES[version];
  const get = `this.instantiationService.invokeFunction(a=>a.get(${n.service}))`;
  const completed = isUpdateStyle
    ? `const e=n.message;if(e.case!=="thinkingCompleted")return;`
    : "const e={value:n};if(n.thinkingDurationMs===void 0)return;";
  return [
    `${n.adapter}=class{constructor(n,e,t,i){this.instantiationService=n,this.composerDataHandle=e,this.generationUUID=t,`,
    "this.hooks=i??{},this.options={},this.hasReceivedFirstToken=!1,this.unfinishedToolCallIds=new Set,this.re=/[}{]/g,this.odd='}class{handleTextDelta(n){'}",
    "notifyFirstTokenIfNeeded(){this.hasReceivedFirstToken||(this.hasReceivedFirstToken=!0,this.hooks.onFirstToken?.())}",
    "cancelUnfinishedToolCalls(){for(const n of Array.from(this.unfinishedToolCallIds))this.unfinishedToolCallIds.delete(n)}",
    "dispose(){this.cancelUnfinishedToolCalls(),this.thinkingWordStreamer&&(this.thinkingWordStreamer.flush(),this.thinkingWordStreamer.dispose(),this.thinkingWordStreamer=void 0)}",
    'async handleToolCallStarted(n){const e=n.message;if(e.case!=="toolCallStarted")return;const t=e.value.toolCall;this.unfinishedToolCallIds.add(e.value.callId);',
    `if(t?.tool===void 0){this.handleTextDelta(\`[Tool: \${e.value.callId}]\n\`);return}const i=${get};${n.batch}(()=>{i.appendComposerBubbles(this.composerDataHandle,[{...${n.bubble}(),type:${n.types}.AI,text:"",capabilityType:${n.kinds}.TOOL_FORMER,tool:t.tool}]),i.updateComposerDataSetStore(this.composerDataHandle,r=>r("generatingBubbleIds",[]))})}`,
    `handleTextDelta(n){if(n.length===0)return;${opening}const e=${get},t=e.getComposerData(this.composerDataHandle);if(!t)return;`,
    `const i=e.getLastBubble(this.composerDataHandle),r=i&&t.generatingBubbleIds?.includes(i.bubbleId);if(i?.type!==${n.types}.AI||i.capabilityType!==void 0||!r){`,
    `const a={...${n.bubble}(),codeBlocks:[],type:${n.types}.AI,text:""};${n.batch}(()=>{e.appendComposerBubbles(this.composerDataHandle,[a]),e.updateComposerDataSetStore(this.composerDataHandle,l=>l("generatingBubbleIds",[a.bubbleId]))})}`,
    `const s=e.getLastAiBubble(this.composerDataHandle);if(!s)return;const o=s.text+n;${store("e")}}`,
    `appendThinkingText(n){const e=this.currentThinkingBubbleId;e&&${get}.updateComposerDataSetStore(this.composerDataHandle,i=>i("conversationMap",e,"thinking",r=>({text:(r?.text??"")+n,signature:r?.signature??""})))}`,
    `handleThinkingDelta(n,e){const t=n.length===0;${opening}const i=${get};if(!i.getComposerData(this.composerDataHandle))return;`,
    `const s=i.getLastBubble(this.composerDataHandle);let a;if(s?.capabilityType===${n.kinds}.THINKING&&s.thinkingDurationMs===void 0)a=s.bubbleId;else{this.thinkingWordStreamer&&this.thinkingWordStreamer.flush();`,
    `const u={...${n.bubble}(),type:${n.types}.AI,text:"",capabilityType:${n.kinds}.THINKING};a=u.bubbleId,${n.batch}(()=>{i.appendComposerBubbles(this.composerDataHandle,[u]),i.updateComposerDataSetStore(this.composerDataHandle,d=>d("generatingBubbleIds",[u.bubbleId]))})}`,
    `this.currentThinkingBubbleId=a,t||(this.thinkingWordStreamer||=new ${n.streamer}(u=>this.appendThinkingText(u)),this.thinkingWordStreamer.enqueue(n))}`,
    `handleThinkingCompleted(n){${completed}this.thinkingWordStreamer&&this.thinkingWordStreamer.flush();const t=${get},i=t.getLastBubble(this.composerDataHandle);if(i?.capabilityType!==${n.kinds}.THINKING)return;`,
    `const r=i.bubbleId,s=e.value.thinkingDurationMs;${n.batch}(()=>{t.updateComposerDataSetStore(this.composerDataHandle,o=>o("conversationMap",r,"thinkingDurationMs",s)),t.updateComposerDataSetStore(this.composerDataHandle,o=>o("generatingBubbleIds",[]))})}`,
    "async sendUpdate(n,e){const t=e.message.case;if(this.generationUUID!==void 0&&this.composerDataHandle.data.chatGenerationUUID!==this.generationUUID)return;",
    `switch(t){case"textDelta":{this.handleTextDelta(e.message.value.text);break}case"thinkingDelta":{this.handleThinkingDelta(e.message.value.text,e.message.value.thinkingStyle);break}case"thinkingCompleted":{this.handleThinkingCompleted(${isUpdateStyle ? "e" : "e.message.value"});break}`,
    'case"toolCallStarted":await this.handleToolCallStarted(e);break;case"turnEnded":this.hooks.onTurnEnded?.();break;case"heartbeat":case"tokenDelta":break}}}',
  ].join("");
}

/** The class in its module, as an expression that gives the class. Needs nothing from outside. */
export function adapterModule(version: Version, n: Shape["names"] = SHAPES[version].names): string {
  return [
    `(()=>{var ${n.service}=Symbol("composerDataService"),${n.kinds}={THINKING:30,TOOL_FORMER:15},${n.types}={HUMAN:1,AI:2},k0=0,`,
    `${n.bubble}=()=>({bubbleId:"b"+ ++k0}),${n.batch}=x=>x(),${n.adapter},${n.streamer},Lr=x=>Object.values(x)[0],Zz=Lr({`,
    '"out-build/vs/workbench/services/agent/browser/agentResponseAdapter.js"(){"use strict";',
    // It hands words on by and by; `flush` gives the rest at once.
    `${n.streamer}=class{constructor(n){this.onChunk=n,this.queue=[],this.timer=void 0}enqueue(n){this.queue.push(n),this.timer??=setTimeout(()=>{this.timer=void 0,this.flush()},5)}flush(){clearTimeout(this.timer),this.timer=void 0;for(;this.queue.length>0;)this.onChunk(this.queue.shift())}dispose(){clearTimeout(this.timer),this.queue.length=0}},`,
    adapterClass(version, n),
    `}});return Zz(),${n.adapter}})()`,
  ].join("");
}

const HEADER =
  "/*!--------------------------------------------------------\n * Copyright (C) Nobody. All rights reserved.\n *--------------------------------------------------------*/";

/** A small bundle with everything that misleads: other classes, the names in strings, comments and calls. */
export function cursorBundle(version: Version, adapters: readonly string[] = [adapterModule(version)]): string {
  return [
    HEADER,
    'import*as Tq from"node:module";var e="handleTextDelta(n){",t="class{handleThinkingDelta(x){}",$=/class{handleTextDelta\\(/,',
    "Q1=class extends Object{handleTextDelta(n){return n}other(){return this.handleTextDelta(1)}},",
    "D4={handleTextDelta(n){},handleThinkingDelta(n){}};/* class X{handleTextDelta(n){} } */",
    ...adapters.map((adapter, index) => `var zZ${index}=${adapter};`),
    "class Tail{#p=1;run(n){return n?.handleTextDelta(this.#p)}}export{zZ0 as A,Tail as B};\n//# sourceMappingURL=workbench.desktop.main.js.map\n",
  ].join("");
}
