import type { DescMethod } from "@bufbuild/protobuf";
import { AgentService } from "../gen/agent/v1/service_pb.ts";
import { AiService } from "../gen/aiserver/v1/ai_pb.ts";
import { AnalyticsService } from "../gen/aiserver/v1/analytics_pb.ts";
import { AuthService } from "../gen/aiserver/v1/auth_pb.ts";
import { BidiService } from "../gen/aiserver/v1/bidi_pb.ts";
import { DashboardService } from "../gen/aiserver/v1/dashboard_pb.ts";
import { ServerConfigService } from "../gen/aiserver/v1/server_config_pb.ts";
import { ChatService } from "../gen/aiserver/v1/unified_chat_pb.ts";

const SERVICES = [
  AgentService,
  BidiService,
  ChatService,
  AiService,
  ServerConfigService,
  DashboardService,
  AnalyticsService,
  AuthService,
];

const METHODS: ReadonlyMap<string, DescMethod> = new Map(
  SERVICES.flatMap<DescMethod>(({ methods }) => methods).map((method) => [
    `/${method.parent.typeName}/${method.name}`,
    method,
  ]),
);

/** Returns the method of our schema at this path, with or without a query. */
export const methodAt = (path: string): DescMethod | undefined => METHODS.get(path.split("?", 1)[0] ?? "");
