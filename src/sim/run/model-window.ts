/** placeholder */
export const contextTokens = (_id: string, _isMaxMode: boolean): number => 200_000;
