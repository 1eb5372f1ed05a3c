import type { DescEnum, DescMessage, DescService } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ConversationActionSchema, ResumeActionSchema } from "../../src/gen/agent/v1/action_pb.ts";
import { ConversationStateStructureSchema } from "../../src/gen/agent/v1/conversation_pb.ts";
import {
  DeleteResultSchema,
  ReadResult_SuccessSchema,
  ReadResultSchema,
  WriteResultSchema,
} from "../../src/gen/agent/v1/exec_file_pb.ts";
import { ExecClientMessageSchema, ExecServerMessageSchema } from "../../src/gen/agent/v1/exec_pb.ts";
import {
  ShellResult_FailureSchema,
  ShellResult_SuccessSchema,
  ShellResultSchema,
} from "../../src/gen/agent/v1/exec_shell_pb.ts";
import { InteractionUpdateSchema } from "../../src/gen/agent/v1/interaction_pb.ts";
import { ModelDetailsSchema, RequestedModelSchema } from "../../src/gen/agent/v1/model_pb.ts";
import { InteractionQuerySchema, InteractionResponseSchema } from "../../src/gen/agent/v1/query_pb.ts";
import { RequestContextEnvSchema, RequestContextSchema } from "../../src/gen/agent/v1/request_context_pb.ts";
import { AgentRunRequestSchema, AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { SelectedImageSchema } from "../../src/gen/agent/v1/selected_context_pb.ts";
import { AgentService } from "../../src/gen/agent/v1/service_pb.ts";
import { EditResultSchema, ReadToolResult_SuccessSchema, ToolCallSchema } from "../../src/gen/agent/v1/tool_call_pb.ts";
import { AiService } from "../../src/gen/aiserver/v1/ai_pb.ts";
import { AnalyticsService } from "../../src/gen/aiserver/v1/analytics_pb.ts";
import { BidiService } from "../../src/gen/aiserver/v1/bidi_pb.ts";
import {
  ClientSideToolV2CallSchema,
  ClientSideToolV2ResultSchema,
  ClientSideToolV2Schema,
} from "../../src/gen/aiserver/v1/client_side_tool_pb.ts";
import { DashboardService } from "../../src/gen/aiserver/v1/dashboard_pb.ts";
import { ErrorDetails_ErrorSchema } from "../../src/gen/aiserver/v1/error_pb.ts";
import { GetServerConfigResponseSchema, ServerConfigService } from "../../src/gen/aiserver/v1/server_config_pb.ts";
import { ChatService, StreamUnifiedChatResponseSchema } from "../../src/gen/aiserver/v1/unified_chat_pb.ts";
import {
  GetCurrentPeriodUsageResponse_PlanUsageSchema,
  UsageEventDisplaySchema,
} from "../../src/gen/aiserver/v1/usage_pb.ts";

// A wrong number compiles and runs. These are the ones easily mistaken.

describe("fields that are not where a neighbour would put them", () => {
  test.each<[schema: DescMessage, numbers: Record<string, number>]>([
    [ResumeActionSchema, { request_context: 2 }],
    [
      GetCurrentPeriodUsageResponse_PlanUsageSchema,
      { auto_percent_used: 12, api_percent_used: 13, total_percent_used: 14 },
    ],
    [UsageEventDisplaySchema, { token_usage: 9, charged_cents: 18, conversation_id: 23 }],
    [ConversationActionSchema, { async_ask_question_completion_action: 8, cancel_subagent_action: 10 }],
    [AgentServerMessageSchema, { exec_server_control_message: 5, interaction_query: 7 }],
    [
      AgentRunRequestSchema,
      { mcp_tools: 4, conversation_id: 5, custom_system_prompt: 8, requested_model: 9, run_id: 25 },
    ],
    [ModelDetailsSchema, { display_model_id: 3, max_mode: 7, api_key_credentials: 8 }],
    [RequestedModelSchema, { max_mode: 2, parameters: 3, api_key_credentials: 4 }],
    [SelectedImageSchema, { blob_id: 1, uuid: 2, mime_type: 7, data: 8, blob_id_with_data: 9 }],
    [RequestContextSchema, { rules: 2, env: 4, tools: 7, cloud_rule: 16, system_prompt_override: 53 }],
    [RequestContextEnvSchema, { shell: 3, sandbox_enabled: 5, terminals_folder: 7, time_zone: 10 }],
    [InteractionUpdateSchema, { heartbeat: 13, turn_ended: 14, tool_call_delta: 15, message_started_at_ms: 25 }],
    [ConversationStateStructureSchema, { root_prompt_messages_json: 1, token_details: 5, turns: 8, read_paths: 18 }],
    [
      ShellResultSchema,
      {
        spawn_error: 5,
        permission_denied: 7,
        sandbox_policy: 101,
        is_background: 102,
        terminals_folder: 103,
        pid: 104,
      },
    ],
    [ShellResult_SuccessSchema, { output_location: 8, shell_id: 9, interleaved_output: 10, pid: 11 }],
    [ShellResult_FailureSchema, { output_location: 8, interleaved_output: 9, abort_reason: 10, aborted: 11 }],
    [WriteResultSchema, { success: 1, permission_denied: 3, error: 5, rejected: 6 }],
    [DeleteResultSchema, { success: 1, permission_denied: 4, rejected: 6, error: 7 }],
    [ReadResultSchema, { success: 1, error: 2, rejected: 3, file_not_found: 4, permission_denied: 5 }],
    [ReadResult_SuccessSchema, { content: 2, total_lines: 3, file_size: 4, data: 5 }],
    [ReadToolResult_SuccessSchema, { content: 1, total_lines: 4, file_size: 5, data: 6, path: 7 }],
    [EditResultSchema, { success: 1, write_permission_denied: 4, rejected: 6, error: 7 }],
    [ToolCallSchema, { read_tool_call: 8, mcp_tool_call: 15, truncated_tool_call: 34, tool_call_id: 57 }],
    [GetServerConfigResponseSchema, { http2_config: 7, use_nlb_for_nal: 26, agent_url_config: 27 }],
    [StreamUnifiedChatResponseSchema, { text: 1, thinking: 25, tool_call_v2: 36 }],
  ])("$typeName", (schema, numbers) => {
    expect(fieldNumbers(schema)).toMatchObject(numbers);
  });
});

describe("execs", () => {
  const requests = Object.entries(oneofNumbers(ExecServerMessageSchema, "message"));
  const results = oneofNumbers(ExecClientMessageSchema, "message");

  test.each(requests)("%s has its result at the right number", (name, number) => {
    expect(results[resultOf(name)]).toBe(resultNumber(name, number));
  });

  test("there is no result without a request", () => {
    expect(Object.keys(results).sort()).toEqual(requests.map(([name]) => resultOf(name)).sort());
  });

  function resultOf(request: string): string {
    if (request === "shell_stream_args") return "shell_stream";
    return request.replace(/_args$/, "_result").replace(/_request$/, "_response");
  }

  function resultNumber(request: string, number: number): number {
    if (request === "mini_swe_agent_bash_args") return 55;
    return request.startsWith("pi_") ? number + 1 : number;
  }
});

test("a query and its answer have the same number", () => {
  const numbers = (schema: DescMessage, oneof: string) => Object.values(oneofNumbers(schema, oneof));
  expect(numbers(InteractionResponseSchema, "result")).toEqual(numbers(InteractionQuerySchema, "query"));
});

test("the unified chat numbers a call and its result differently", () => {
  expect(oneofNumbers(ClientSideToolV2CallSchema, "params")).toMatchObject({
    read_file_params: 8,
    list_dir_params: 12,
    edit_file_params: 13,
    file_search_params: 16,
    semantic_search_full_params: 17,
    delete_file_params: 19,
    run_terminal_command_v2_params: 23,
    web_search_params: 26,
    mcp_params: 27,
    read_lints_params: 38,
    todo_read_params: 44,
    todo_write_params: 45,
    edit_file_v2_params: 50,
    list_dir_v2_params: 52,
    read_file_v2_params: 53,
    ripgrep_raw_search_params: 54,
    glob_file_search_params: 55,
    call_mcp_tool_params: 62,
  });
  expect(oneofNumbers(ClientSideToolV2ResultSchema, "result")).toMatchObject({
    read_file_result: 6,
    list_dir_result: 9,
    edit_file_result: 10,
    file_search_result: 11,
    semantic_search_full_result: 18,
    delete_file_result: 20,
    run_terminal_command_v2_result: 24,
    web_search_result: 27,
    mcp_result: 28,
    read_lints_result: 40,
    edit_file_v2_result: 51,
    list_dir_v2_result: 52,
    read_file_v2_result: 53,
    ripgrep_raw_search_result: 54,
    glob_file_search_result: 55,
    call_mcp_tool_result: 62,
  });
});

test("enums with gaps", () => {
  expect(enumNumbers(ErrorDetails_ErrorSchema)).toMatchObject({
    ERROR_AGENT_REQUIRES_LOGIN: 18,
    ERROR_MAX_TOKENS: 20,
    ERROR_TIMEOUT: 25,
    ERROR_OUTDATED_CLIENT: 30,
    ERROR_UNAUTHORIZED: 38,
    ERROR_DEPRECATED: 40,
    ERROR_RESOURCE_EXHAUSTED: 41,
    ERROR_RATE_LIMITED: 50,
    ERROR_CUSTOM: 52,
    ERROR_ACCOUNT_CLOSED: 65,
  });
  expect(enumNumbers(ClientSideToolV2Schema)).toMatchObject({
    CLIENT_SIDE_TOOL_V2_READ_FILE: 5,
    CLIENT_SIDE_TOOL_V2_RUN_TERMINAL_COMMAND_V2: 15,
    CLIENT_SIDE_TOOL_V2_MCP: 19,
    CLIENT_SIDE_TOOL_V2_EDIT_FILE_V2: 38,
    CLIENT_SIDE_TOOL_V2_CALL_MCP_TOOL: 49,
    CLIENT_SIDE_TOOL_V2_WRITE_SHELL_STDIN: 55,
  });
});

test("the calls, and which of them stream", () => {
  const services = [
    AgentService,
    BidiService,
    AiService,
    ServerConfigService,
    DashboardService,
    AnalyticsService,
    ChatService,
  ];
  expect(Object.assign({}, ...services.map(methodKinds))).toEqual({
    "agent.v1.AgentService/Run": "bidi_streaming",
    "agent.v1.AgentService/RunSSE": "server_streaming",
    "agent.v1.AgentService/RunPoll": "server_streaming",
    "agent.v1.AgentService/NameAgent": "unary",
    "agent.v1.AgentService/GetUsableModels": "unary",
    "agent.v1.AgentService/GetDefaultModelForCli": "unary",
    "agent.v1.AgentService/GetAllowedModelIntents": "unary",
    "aiserver.v1.BidiService/BidiAppend": "unary",
    "aiserver.v1.AiService/HealthCheck": "unary",
    "aiserver.v1.AiService/AvailableModels": "unary",
    "aiserver.v1.AiService/GetUsableModels": "unary",
    "aiserver.v1.AiService/GetDefaultModelForCli": "unary",
    "aiserver.v1.AiService/GetDefaultModel": "unary",
    "aiserver.v1.AiService/GetServerConfig": "unary",
    "aiserver.v1.AiService/NameAgent": "unary",
    "aiserver.v1.AiService/ServerTime": "unary",
    "aiserver.v1.AiService/StreamChat": "server_streaming",
    "aiserver.v1.AiService/StreamChatWeb": "server_streaming",
    "aiserver.v1.AiService/StreamChatContext": "server_streaming",
    "aiserver.v1.AiService/StreamChatDeepContext": "server_streaming",
    "aiserver.v1.AiService/TaskStreamChatContext": "server_streaming",
    "aiserver.v1.ServerConfigService/GetServerConfig": "unary",
    "aiserver.v1.DashboardService/GetMe": "unary",
    "aiserver.v1.DashboardService/GetUserPrivacyMode": "unary",
    "aiserver.v1.DashboardService/GetCurrentPeriodUsage": "unary",
    "aiserver.v1.DashboardService/GetFilteredUsageEvents": "unary",
    "aiserver.v1.DashboardService/GetAggregatedUsageEvents": "unary",
    "aiserver.v1.DashboardService/GetUsageLimitPolicyStatus": "unary",
    "aiserver.v1.DashboardService/CreateUserApiKey": "unary",
    "aiserver.v1.DashboardService/GetTeamAdminSettingsOrEmptyIfNotInTeam": "unary",
    "aiserver.v1.AnalyticsService/BootstrapStatsig": "unary",
    "aiserver.v1.AnalyticsService/TrackEvents": "unary",
    "aiserver.v1.ChatService/StreamUnifiedChat": "server_streaming",
    "aiserver.v1.ChatService/StreamUnifiedChatWithTools": "bidi_streaming",
    "aiserver.v1.ChatService/StreamUnifiedChatWithToolsSSE": "server_streaming",
    "aiserver.v1.ChatService/StreamUnifiedChatWithToolsPoll": "server_streaming",
    "aiserver.v1.ChatService/StreamUnifiedChatWithToolsIdempotent": "bidi_streaming",
    "aiserver.v1.ChatService/StreamUnifiedChatWithToolsIdempotentSSE": "server_streaming",
    "aiserver.v1.ChatService/StreamUnifiedChatWithToolsIdempotentPoll": "server_streaming",
  });
});

function fieldNumbers(schema: DescMessage): Record<string, number> {
  return Object.fromEntries(schema.fields.map((field) => [field.name, field.number]));
}

function oneofNumbers(schema: DescMessage, oneof: string): Record<string, number> {
  const fields = schema.fields.filter((field) => field.oneof?.name === oneof);
  return Object.fromEntries(fields.map((field) => [field.name, field.number]));
}

function enumNumbers(schema: DescEnum): Record<string, number> {
  return Object.fromEntries(schema.values.map((value) => [value.name, value.number]));
}

function methodKinds(service: DescService): Record<string, string> {
  return Object.fromEntries(service.methods.map((method) => [`${service.typeName}/${method.name}`, method.methodKind]));
}
