/** A value, or the promise of one. Stores on this machine give values at once; others need time. */
export type Awaitable<T> = T | Promise<T>;

/** A store whose methods give their values at once. */
export type AtOnce<Store> = {
  readonly [Name in keyof Store]: Store[Name] extends (...given: infer Given) => infer Value
    ? (...given: Given) => Exclude<Value, Promise<unknown>>
    : Store[Name];
};

/** Continues with a value: at once if it is known. */
export const after = <T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> =>
  value instanceof Promise ? value.then(next) : next(value);
